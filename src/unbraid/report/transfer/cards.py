"""The page of one card: a model on all scenarios that apply."""

from __future__ import annotations

import numpy as np

from unbraid.data import Dataset
from unbraid.report.page.markup import Html, command, figure, note, section, tag
from unbraid.report.page.pictures import png
from unbraid.report.page.shell import page
from unbraid.report.page.tables import data_table
from unbraid.report.tiles import enlarge
from unbraid.transfer import Card, get_scenario

__all__ = ["card_page"]

WRONG = "Images of the test side that the model was surest of and wrong about; in brackets its confidence."


def card_page(found: Card, data: Dataset | None = None, made_by: str = "unbraid transfer card") -> str:
    """The card as HTML; with the data the images that it fails on are shown."""
    parts = [section("Scenarios", _numbers(found))]
    if found.wrong and data is not None:
        parts.append(section("What it fails on", figure(WRONG, _pictures(found, data)), short="Failures"))
    if found.left_out:
        told = [[get_scenario(name).title, reason] for name, reason in found.left_out.items()]
        table = data_table(["scenario", "needs"], told, "Left out", sortable=False, sentences=True)
        parts.append(section("What it cannot be asked", table, short="Left out"))
    attacks = f"Attacks: {found.settings.get('budget', '')}. Images: {found.settings.get('glyphs', '')}"
    lead = [note(doubt, kind="gap") for doubt in found.doubts or ()]
    if not lead:
        unasked = "Signs of masked gradients were not looked for." if found.doubts is None else ""
        lead = [note(unasked or "No sign of masked gradients.", kind="info")]
    again = section("Reproduce it", tag("p", attacks), command(made_by))
    return page(f"{found.model} outside its training domain", f"on {found.data}", lead, [*parts, again], made_by)


def _numbers(found: Card) -> Html:
    """A row per scenario; columns in which nothing would stand are left out."""
    lines = found.lines
    columns: list[tuple[str, list[object]]] = [
        ("scenario", [line.scenario.title for line in lines]),
        ("value", [line.value for line in lines]),
        ("reference", [line.reference for line in lines]),
        ("chance", [line.chance for line in lines]),
        ("at most", [line.ceiling for line in lines]),
        ("unit", [line.scenario.unit for line in lines]),
        ("note", [line.note for line in lines]),
    ]
    kept = [(name, column) for name, column in columns if any(one not in (None, "") for one in column)]
    rows = list(zip(*(column for _, column in kept), strict=True))
    return data_table([name for name, _ in kept], rows, "Scenarios", sortable=False)


def _pictures(found: Card, data: Dataset) -> Html:
    index = np.array([row[0] for row in found.wrong])
    images = data.images(index, np.random.default_rng(0))
    items = []
    for image, (_, truth, guess, sure) in zip(images, found.wrong, strict=True):
        words = f"{truth} taken for {guess} ({100 * sure:.0f}\u00a0%)"
        shown = tag("img", src=png(enlarge(image, 3)), alt=words, width=84)
        items.append(tag("li", shown, tag("small", words)))
    return tag("ul", items, class_="tiles")

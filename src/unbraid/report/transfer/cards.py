"""The page of one card: a model on all scenarios that apply."""

from __future__ import annotations

import numpy as np

from unbraid.data import Dataset
from unbraid.report.page.markup import Html, command, figure, note, section, tag
from unbraid.report.page.pictures import png
from unbraid.report.page.shell import page
from unbraid.report.page.tables import data_table
from unbraid.report.tiles import enlarge
from unbraid.transfer import Card

__all__ = ["card_page"]

WRONG = "Images of the test side that the model was surest of and wrong about; in brackets its confidence."


def card_page(found: Card, data: Dataset | None = None, made_by: str = "unbraid transfer card") -> str:
    """The card as HTML; with the data the images that it fails on are shown."""
    rows = [
        [line.scenario.title, line.value, line.reference, line.scenario.unit, line.chance, line.ceiling, line.note]
        for line in found.lines
    ]
    columns = ["scenario", "value", "reference", "unit", "chance", "at most", "note"]
    parts = [section("Scenarios", data_table(columns, rows, "Scenarios", sortable=False))]
    if found.wrong and data is not None:
        parts.append(section("What it fails on", figure(WRONG, _pictures(found, data)), short="Failures"))
    if found.left_out:
        told = [[name, reason] for name, reason in found.left_out.items()]
        table = data_table(["scenario", "needs"], told, "Left out", sortable=False, sentences=True)
        parts.append(section("What it cannot be asked", table, short="Left out"))
    attacks = f"Attacks: {found.settings.get('budget', '')}. Images: {found.settings.get('glyphs', '')}"
    lead = [note(doubt, kind="gap") for doubt in found.doubts] or [note("No sign of masked gradients.", kind="info")]
    again = section("Reproduce it", tag("p", attacks), command(made_by))
    return page(f"{found.model} outside its training domain", f"on {found.data}", lead, [*parts, again], made_by)


def _pictures(found: Card, data: Dataset) -> Html:
    index = np.array([row[0] for row in found.wrong])
    images = data.images(index, np.random.default_rng(0))
    items = []
    for image, (_, truth, guess, sure) in zip(images, found.wrong, strict=True):
        words = f"{truth} taken for {guess} ({100 * sure:.0f} %)"
        shown = tag("img", src=png(enlarge(image, 3)), alt=words, width=84)
        items.append(tag("li", shown, tag("small", words)))
    return tag("ul", items, class_="tiles")

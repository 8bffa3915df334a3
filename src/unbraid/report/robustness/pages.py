"""The pages as HTML files that load nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from unbraid.data import Dataset
from unbraid.errors import UsageError
from unbraid.files import make_folders, write_text
from unbraid.report.page.charts import legend
from unbraid.report.page.markup import Html, Section, command, figure, fragment, note, section, tag
from unbraid.report.page.shell import page
from unbraid.report.page.tables import data_table
from unbraid.report.robustness import captions, charts
from unbraid.robustness import CorruptionTable, Fallen

__all__ = ["adversarial_page", "assemble", "corruption_page", "curves", "noise_page", "write_page"]


def corruption_page(
    tables: Sequence[CorruptionTable],
    data: Dataset,
    classes: Mapping[str, Sequence[str]],
    *,
    reference: CorruptionTable | None = None,
    seed: int = 0,
    notes: Sequence[str] = (),
    made_by: str = "unbraid.report.robustness.corruption_page",
) -> str:
    """The page about accuracy under corruptions; ``classes`` are the names of each model's classes."""
    first = tables[0]
    told = captions.TABLE if reference is None else f"{captions.TABLE} {captions.RELATIVE}"
    parts = [
        section("Which corruption costs most", figure(captions.HEAT, charts.heat_map(tables)), short="Heat map"),
        section("Accuracy", figure(told, charts.accuracy_table(tables, reference))),
    ]
    over = charts.severity_curves(tables)
    if over:
        parts.append(section("Over severity", curves(captions.CURVES, [one.model for one in tables], over)))
    shown: list[Html] = []
    for one in tables:
        pictures = charts.worst_images(one, data, classes[one.model], seed) if data.has_pictures else None
        if pictures is not None:
            shown.append(fragment(tag("h3", one.model), pictures))
    if shown:
        parts.append(section("Worst images", figure(captions.WORST, shown)))
    best = max(tables, key=lambda one: one.mean())
    numbers = [
        ("models", str(len(tables)), ""),
        ("images", f"{first.images:,}", data.name),
        ("corruptions", str(len(first.corruptions)), first.suite),
        ("best mean", f"{100 * best.mean():.1f} %", best.model),
    ]
    title = f"Corruptions of {data.name}"
    return assemble(title, "how often classifiers are right on spoiled images", numbers, parts, notes, made_by)


def noise_page(
    found: Mapping[str, Mapping[str, np.ndarray]],
    rows: Sequence[Sequence[object]],
    columns: Sequence[str],
    data: Dataset,
    *,
    fallen: Mapping[str, tuple[Sequence[Fallen], Sequence[str]]] | None = None,
    erased: bool = False,
    notes: Sequence[str] = (),
    made_by: str = "unbraid.report.robustness.noise_page",
) -> str:
    """The page about noise: ``found`` are distances by kind of noise and model, ``rows`` the table.

    ``fallen`` are the images of each model that fall first, with the names of its classes.
    """
    kinds = [
        charts.standing_curves(of_models, f"{kind} noise", "L2 norm of the noise") for kind, of_models in found.items()
    ]
    models = list(next(iter(found.values())))
    told = list(notes) + ([captions.ERASED] if erased else [])
    table = data_table(columns, rows, "Noise distances")
    parts = [
        section("How much noise", figure(captions.MEDIANS, table), short="Distances"),
        section("Decisions that stand", curves(captions.NOISE, models, kinds), short="Curves"),
    ]
    shown = [
        fragment(tag("h3", name), charts.fallen_images(images, classes))
        for name, (images, classes) in (fallen or {}).items()
        if images
    ]
    if shown:
        parts.append(section("Images that fall first", figure(captions.FALLEN, shown), short="Images"))
    count = len(next(iter(next(iter(found.values())).values())))
    numbers = [("models", str(len(models)), ""), ("images", f"{count:,}", data.name), ("kinds", str(len(kinds)), "")]
    return assemble(f"Noise on {data.name}", "how much noise changes decisions", numbers, parts, told, made_by)


def adversarial_page(
    rows: Sequence[Sequence[object]],
    columns: Sequence[str],
    minimal: Mapping[str, np.ndarray],
    data: Dataset,
    *,
    notes: Sequence[str] = (),
    made_by: str = "unbraid.report.robustness.adversarial_page",
) -> str:
    """The page about adversaries; ``minimal`` are distances by model where the attack looked for the nearest image."""
    table = data_table(columns, rows, "Adversarial accuracy")
    parts = [section("Accuracy under attack", figure(captions.ADVERSARIAL, table))]
    if minimal:
        curve = charts.standing_curves(minimal, "L2", "L2 distance")
        parts.append(section("Over distance", curves(captions.STANDING, list(minimal), [curve])))
    numbers = [("models", str(len({row[0] for row in rows})), ""), ("images", f"{rows[0][-1]:,}", data.name)]
    return assemble(
        f"Adversaries on {data.name}", "which decisions stand when images are moved", numbers, parts, notes, made_by
    )


def write_page(text: str, folder: str | Path) -> Path:
    """Write a page as ``report.html`` into a folder."""
    target = Path(folder) / "report.html"
    try:
        make_folders(target.parent)
        write_text(target, text)
    except OSError as error:
        raise UsageError(f"cannot write {target} ({error.strerror or error}); choose another folder (--out)") from error
    return target


def curves(caption: str, models: Sequence[str], charts_: Sequence[Html]) -> Html:
    """Charts side by side under one legend."""
    return figure(caption, legend(models), tag("div", charts_, class_="grid"))


def assemble(
    title: str,
    about: str,
    numbers: Sequence[tuple[str, str, str]],
    parts: Sequence[Section],
    notes: Sequence[str],
    made_by: str,
    warnings: Sequence[Html] = (),
) -> str:
    """A page with tiles of numbers, warnings and notes at its top, and the command that makes it at its end."""
    items = [tag("li", tag("span", name), tag("b", value), tag("small", extra)) for name, value, extra in numbers]
    lead = [tag("ul", items, class_="tiles"), *warnings, *(note(text, kind="info") for text in notes)]
    again = section("Reproduce it", tag("p", "Make this page again:"), command(made_by))
    return page(title, about, lead, [*parts, again], made_by)

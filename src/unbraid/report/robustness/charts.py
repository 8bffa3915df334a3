"""Charts about corruptions, noise and adversaries: from tables to pictures, one function each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from unbraid.corruptions import corrupt
from unbraid.data import Dataset, counter_rng
from unbraid.report.page.axes import number
from unbraid.report.page.charts import Series, line_chart
from unbraid.report.page.markup import Html, tag
from unbraid.report.page.pictures import png
from unbraid.report.page.tables import data_table, heat_table
from unbraid.report.tiles import enlarge
from unbraid.robustness import CLEAN, CorruptionTable, Fallen, Wrong, plan_of

__all__ = ["accuracy_table", "fallen_images", "heat_map", "severity_curves", "standing_curves", "worst_images"]

MOST = 12
"""Wrong answers that are shown of a model."""
PER_CORRUPTION = 2
POINTS = 120


def heat_map(tables: Sequence[CorruptionTable]) -> Html:
    """Models by corruptions: points of accuracy lost or won against the clean images; framed if training showed it."""
    names = tables[0].corruptions
    rows = [[one.mean(), *(one.accuracy(name) for name in names)] for one in tables]
    lost = np.array([[100 * (value - one.clean) for value in row] for one, row in zip(tables, rows, strict=True)])
    marks = np.array([[one.marked(), *(name in one.trained_on for name in names)] for one in tables])
    models = [one.model for one in tables]
    reach = max(float(np.abs(lost).max()), 1.0)
    title = "Points of accuracy against the clean images"
    return heat_table(lost, models, ["mean", *names], title, low=-reach, high=reach, digits=1, marked=marks)


def accuracy_table(tables: Sequence[CorruptionTable], reference: CorruptionTable | None = None) -> Html:
    """A row per model: clean, means with standard errors, without noise, among five, relative errors."""
    noisy = "noise" in tables[0].categories.values() and len(set(tables[0].categories.values())) > 1
    five = any(one.top5 is not None for one in tables)
    columns = ["model", "clean %", "mean %", *(["without noise %"] if noisy else [])]
    columns += ["among five %"] if five else []
    columns += [f"errors, % of those of {reference.model}"] if reference is not None else []
    rows: list[list[object]] = []
    for one in tables:
        row: list[object] = [one.model, (f"{100 * one.clean:.1f}", one.clean), _share(one)]
        row += [_share(one, "noise")] if noisy else []
        row += [100 * one.top5 if one.top5 is not None else None] if five else []
        row += [one.mce(reference)] if reference is not None else []
        rows.append(row)
    return data_table(columns, rows, "Accuracy under corruptions")


def _share(one: CorruptionTable, exclude: str | None = None) -> tuple[str, float]:
    text = f"{100 * one.mean(exclude):.1f} ± {100 * one.mean_error(exclude):.1f}"
    return (f"({text})" if one.marked(exclude) else text), one.mean(exclude)


def severity_curves(tables: Sequence[CorruptionTable]) -> list[Html]:
    """Accuracy over severity, a chart per corruption with several, a colour per model; 0 is clean."""
    charts = []
    for name in tables[0].corruptions:
        severities = [row.severity for row in tables[0].spoiled if row.corruption == name]
        if len(severities) < 2:
            continue
        x = np.array([0, *severities], dtype=float)
        series = [
            Series(one.model, x, np.array([one.clean, *(one.accuracy(name, s) for s in severities)]), tone)
            for tone, one in enumerate(tables)
        ]
        charts.append(line_chart(series, name, x_label="severity", y_label="accuracy", within=(0, 1), markers=True))
    return charts


def standing_curves(found: Mapping[str, np.ndarray], title: str, x_label: str) -> Html:
    """The share of images that are still named right at a distance, a curve per model.

    ``found`` are the distances at which each image falls: 0 named wrong from the start, infinite never.
    """
    finite = np.concatenate([values[np.isfinite(values)] for values in found.values()])
    most = float(finite.max(initial=0.0)) or 1.0
    x = np.linspace(0, most, POINTS)
    series = [
        Series(name, x, np.array([(values > at).mean() for at in x]), tone)
        for tone, (name, values) in enumerate(found.items())
    ]
    return line_chart(series, title, x_label=x_label, y_label="still right", within=(0, 1))


def worst_images(table: CorruptionTable, data: Dataset, classes: Sequence[str], seed: int) -> Html | None:
    """The wrong answers of the highest confidence, two of a corruption at most, with what they were taken for."""
    chosen: list[Wrong] = []
    for wrong in table.worst:
        of_kind = [one for one in chosen if one.corruption == wrong.corruption]
        if len(of_kind) < PER_CORRUPTION and all(one.image != wrong.image for one in of_kind):
            chosen.append(wrong)
        if len(chosen) == MOST:
            break
    if not chosen:
        return None
    shown = []
    for wrong in chosen:
        image = _image(wrong, table, data, seed)
        told = f"{classes[wrong.truth]}, taken for {classes[wrong.guess]} ({wrong.confidence:.2f})"
        state = wrong.corruption if wrong.severity == 0 else f"{wrong.corruption} {wrong.severity}"
        shown.append(_picture(image, f"{state}: {told}"))
    return tag("ul", shown, class_="pairs captioned")


def fallen_images(found: Sequence[Fallen], classes: Sequence[str]) -> Html:
    """Images at the least noise that changes what they are taken for."""
    told = [
        f"L2 {number(one.distance)}: {classes[one.truth]}, taken for {classes[one.guess]} ({one.confidence:.2f})"
        for one in found
    ]
    shown = [_picture(one.image, text) for one, text in zip(found, told, strict=True)]
    return tag("ul", shown, class_="pairs captioned")


def _picture(image: np.ndarray, text: str) -> Html:
    drawn = tag("img", src=png(enlarge(image, 64)), width=88, alt=text, class_="pixels")
    return tag("li", drawn, tag("small", text))


def _image(wrong: Wrong, table: CorruptionTable, data: Dataset, seed: int) -> np.ndarray:
    where = np.array([wrong.image])
    rng = counter_rng(seed, wrong.image + 1) if data.stochastic else None
    images = data.images(where, rng)
    if wrong.corruption == CLEAN:
        return images[0]
    chosen = {name: corruption for name, corruption, _ in plan_of(table.suite).entries}
    return corrupt(images, chosen[wrong.corruption], wrong.severity, seed, indices=where)[0]

"""What a model predicts, beside the truth: shares, confusions, and the images it is worst at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbraid.data import Dataset
from unbraid.evaluation import class_names, class_tasks, make, measure, predict_classes, predict_factors, title
from unbraid.metrics import Score
from unbraid.report.page.axes import number
from unbraid.report.page.captions import PREDICTED
from unbraid.report.page.charts import Bar, Series, bars, scatter
from unbraid.report.page.markup import Html, Section, figure, fragment, section, tag
from unbraid.report.page.measures import StoredAnswer
from unbraid.report.page.pictures import png
from unbraid.report.page.tables import data_table, heat_table
from unbraid.report.tiles import enlarge
from unbraid.training import Run

__all__ = ["Predicted", "predictions", "see_predictions"]

IMAGES, SEARCHED, WORST = 5000, 500, 16
"""Images that are predicted, those of models that search for each, and the worst that are shown."""
WIDE = 16
"""More classes than that are not put into a matrix: the pairs most often confused are listed."""
_POINTS = 300


@dataclass(frozen=True)
class Predicted:
    """What was seen of a model that predicts."""

    measure: str
    """``accuracy`` or ``r2``."""
    score: Score
    names: tuple[str, ...]
    """Classes, or factors."""
    truth: np.ndarray
    outputs: np.ndarray
    worst: np.ndarray | None
    """The images with the largest loss; ``None`` for vectors."""
    captions: tuple[str, ...]
    data: str
    factor: str = ""
    """The factor whose values are the classes."""

    @property
    def title(self) -> str:
        return title(self.measure)

    @property
    def aside(self) -> str:
        """What to know beside the number."""
        if self.measure == "r2":
            return f"mean of {len(self.names)} factors"
        low, high = self.score.parts["interval"]
        return f"{low:.3f} to {high:.3f}"


def see_predictions(run: Run, data: Dataset, seed: int, answers: Sequence[StoredAnswer] = ()) -> list[Predicted]:
    """Let a model predict images of the data; nothing where the truth is not known.

    What :meth:`Run.predict` gives comes first, then the classes of further tasks. Where it was asked before, with the
    same settings and seed: the page then tells the numbers of that answer.
    """
    first = "r2" if run.objective.predicts == "factors" else "accuracy"
    found: list[Predicted] = []
    for name in (first, *({"accuracy", "r2"} - {first})):
        asked = next((answer for answer in answers if answer.measure == name), None)
        settings = {"images": SEARCHED if run.can("infer") else IMAGES} if asked is None else dict(asked.settings)
        when = seed if asked is None else asked.seed
        measured = measure(run, data, [make(name, settings)], seed=when)
        if name not in measured:
            continue
        if name == "r2":
            score = measured[name].scores()[name]
            assert isinstance(score, Score)
            found.append(_see_factors(run, data, score, settings, when))
            continue
        for condition, scores in measured[name].rows:
            score, trained = scores[name], next((task.factor for task in class_tasks(run)), "")
            factor = str(condition.get("factor") or settings.get("factor") or trained)
            assert isinstance(score, Score)
            found.append(_see_classes(run, data, score, settings, when, factor))
    return found


def _see_classes(run: Run, data: Dataset, score: Score, settings: dict[str, Any], seed: int, factor: str) -> Predicted:
    classes = predict_classes(run, data, images=settings["images"], seed=seed, factor=factor)
    names = class_names(run, data, classes.outputs.shape[1], factor)
    worst = _worst(classes.cross_entropy)
    chance = np.exp(classes.outputs - classes.outputs.max(axis=1, keepdims=True))
    chance /= chance.sum(axis=1, keepdims=True)
    guess = classes.outputs.argmax(axis=1)
    captions = tuple(
        f"{names[classes.truth[i]]}, taken for {names[guess[i]]} ({chance[i, guess[i]]:.2f})"
        if guess[i] != classes.truth[i]
        else f"{names[classes.truth[i]]}, right but unsure ({chance[i, guess[i]]:.2f})"
        for i in worst
    )
    images = _images(data, classes.index[worst])
    return Predicted("accuracy", score, names, classes.truth, classes.outputs, images, captions, data.name, factor)


def _see_factors(run: Run, data: Dataset, score: Score, settings: dict[str, Any], seed: int) -> Predicted:
    factors = predict_factors(run, data, images=settings["images"], seed=seed)
    names = data.factor_names
    worst = _worst(factors.squared_error.sum(axis=1))
    off = [int(factors.squared_error[i].argmax()) for i in worst]
    low, high = np.array(run.problem.ranges).T
    captions = tuple(
        f"{names[j]} {number(low[j] + (high[j] - low[j]) * factors.truth[i, j])}, "
        f"taken for {number(low[j] + (high[j] - low[j]) * factors.outputs[i, j])}"
        for i, j in zip(worst, off, strict=True)
    )
    images = _images(data, factors.index[worst])
    return Predicted("r2", score, names, factors.truth, factors.outputs, images, captions, data.name)


def _worst(losses: np.ndarray) -> np.ndarray:
    return np.argsort(-losses, kind="stable")[:WORST]


def _images(data: Dataset, index: np.ndarray) -> np.ndarray | None:
    return data.images(index) if data.has_pictures else None


def predictions(found: Sequence[Predicted]) -> list[Section]:
    """The sections about what a model predicts; those of several tasks say of which."""
    return [shown for one in found for shown in _sections(one, several=len(found) > 1)]


def _sections(found: Predicted, several: bool) -> list[Section]:
    task = "factors" if found.measure == "r2" else found.factor or "class"
    of_task = f" of {task}" if several else ""
    about = f"{len(found.truth):,} images of {found.data}."
    figures = _classes(found, about) if found.measure == "accuracy" else _factors(found, about)
    shown = [section(f"Predictions{of_task}", figures)]
    if found.worst is not None:
        brackets = f" {PREDICTED['brackets']}" if found.measure == "accuracy" else ""
        worst = figure(f"{PREDICTED['worst']}{brackets} {about}", _pictures(found.worst, found.captions))
        shown.append(section(f"Worst images{of_task}", worst))
    return shown


def _classes(found: Predicted, about: str) -> Html:
    confusion = np.asarray(found.score.parts["confusion"], dtype=float)
    counts = confusion.sum(axis=1)
    rows = [
        Bar(name, float(share))
        for name, share in zip(found.names, np.asarray(found.score.parts["per_class"], dtype=float), strict=True)
    ]
    if len(rows) > WIDE:  # the hardest ones first
        rows = sorted(rows, key=lambda bar: bar.value)[:WIDE]
    low, high = found.score.parts["interval"]
    told = f"Accuracy {number(found.score.value, 4)} (95 % interval {low:.4f} to {high:.4f}), {about}"
    chart = bars(rows, "Accuracy of each class", x_label="share that is named right", top=1.0, left=104)
    parts: list[Html] = [tag("div", [chart], class_="grid")]
    if len(found.names) <= WIDE:
        shares = 100 * confusion / np.maximum(counts, 1)[:, None]
        parts.append(heat_table(shares, found.names, found.names, "True classes (rows), % named as", digits=1))
    else:
        off = confusion - np.diag(np.diag(confusion))
        order = np.argsort(-off, axis=None, kind="stable")[:20]
        pairs = [np.unravel_index(place, off.shape) for place in order]
        table = [[found.names[i], found.names[j], int(off[i, j]), off[i, j] / counts[i]] for i, j in pairs if off[i, j]]
        parts.append(data_table(["class", "named as", "images", "share of the class"], table, "Most often confused"))
    return figure(f"{PREDICTED['classes']} {told}", fragment(parts))


def _factors(found: Predicted, about: str) -> Html:
    per_factor = np.asarray(found.score.parts["per_factor"], dtype=float)
    rows = [Bar(name, float(value)) for name, value in zip(found.names, per_factor, strict=True)]
    charts = [bars(rows, "R² of each factor", x_label="share of the variance explained", top=1.0, left=104)]
    few = np.linspace(0, len(found.truth) - 1, min(_POINTS, len(found.truth))).astype(int)
    for j, name in enumerate(found.names):
        points = Series(name, found.truth[few, j], found.outputs[few, j])
        charts.append(
            scatter([points], name, x_label="true", y_label="predicted", diagonal=True, about=f"R² {per_factor[j]:.3f}")
        )
    told = f"R² {number(found.score.value, 4)} on average, {about}"
    return figure(f"{PREDICTED['factors']} {told}", tag("div", charts, class_="grid"))


def _pictures(images: np.ndarray, captions: tuple[str, ...]) -> Html:
    """Pictures with a line under each."""
    shown = [
        tag(
            "li",
            tag("img", src=png(enlarge(image, 64)), width=88, alt=f"True: {text}", class_="pixels"),
            tag("small", text),
        )
        for image, text in zip(images, captions, strict=True)
    ]
    return tag("ul", shown, class_="pairs captioned")

"""How often a model names the right class, as a measure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unbraid.errors import UsageError, unknown_name
from unbraid.evaluation.base import Measure, Row, Scores, register
from unbraid.evaluation.predictions import Predictions, class_tasks, has_classes, predict_classes
from unbraid.metrics import Score

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.training import Run

__all__ = ["Accuracy", "accuracy", "wilson"]

Z95 = 1.959963984540054
"""Where the standard normal distribution leaves 2.5 % above."""


@register("accuracy")
@dataclass(frozen=True)
class Accuracy(Measure):
    """Share of images whose class has the highest score, with a 95 % interval, per class, and what is confused.

    A model that names the values of several factors has a row for each.
    """

    title = "Accuracy"
    titles: ClassVar[Mapping[str, str]] = {"accuracy": "accuracy", "cross_entropy": "cross-entropy"}
    needs = "a model that predicts classes, and data with classes"
    images: int = 10_000
    """At most so many images, drawn without repetition; all of smaller data sets."""
    factor: str = ""
    """Factor whose values are the classes (otherwise what the run was trained for)."""

    def __post_init__(self) -> None:
        if self.images < 1:
            raise UsageError(f"images must be at least 1, got {self.images}")

    def applies(self, run: Run, data: ImageDataset) -> bool:
        predicts = getattr(getattr(run, "objective", None), "predicts", "classes")
        names = predicts == "classes" or bool(class_tasks(run))
        return run.can("predict") and names and has_classes(run, data, self.factor)

    def lacks(self, run: Run, data: ImageDataset) -> str:
        if self.factor and self.factor not in data.factor_names:
            known = f"has {', '.join(data.factor_names)}" if data.factor_names else "has no known factors"
            return f"a factor {self.factor!r}, and {data.name} {known}"
        return super().lacks(run, data)

    def rows(self, run: Run, data: ImageDataset, seed: int) -> Iterator[Row]:
        tasks = class_tasks(run)
        names = [task.factor for task in tasks]
        if self.factor and len(names) > 1 and self.factor not in names:
            raise unknown_name("factor that the run names", self.factor, names)
        several = not self.factor and len(tasks) > 1
        for factor in names if several else [self.factor]:
            found = predict_classes(run, data, images=self.images, seed=seed, factor=factor)
            scores: Scores = {"accuracy": accuracy(found, seed), "cross_entropy": float(found.cross_entropy.mean())}
            yield ({"factor": factor} if several else {}), scores


def accuracy(found: Predictions, seed: int = 0) -> Score:
    """The share of right answers; its parts are per class, the interval, and counts ``confusion[true, predicted]``."""
    classes, n = found.outputs.shape[1], len(found.truth)
    confusion = np.zeros((classes, classes), dtype=np.int64)
    np.add.at(confusion, (found.truth, found.outputs.argmax(axis=1)), 1)
    counts, right = confusion.sum(axis=1), np.diag(confusion)
    per_class = np.divide(right, counts, out=np.full(classes, np.nan), where=counts > 0)
    return Score(
        "accuracy",
        float(right.sum() / n),
        1.0,
        {"per_class": per_class, "interval": np.array(wilson(int(right.sum()), n)), "confusion": confusion},
        {"images": n, "interval": "Wilson, 95 %", "seed": seed},
    )


def wilson(right: int, n: int, z: float = Z95) -> tuple[float, float]:
    """Wilson's interval for a share: the p with ``|right / n - p| <= z sqrt(p (1 - p) / n)``."""
    share, square = right / n, z * z / n
    middle = (share + square / 2) / (1 + square)
    half = z * math.sqrt(share * (1 - share) / n + square / (4 * n)) / (1 + square)
    return max(middle - half, 0.0), min(middle + half, 1.0)

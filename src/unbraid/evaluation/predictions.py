"""What a model predicts for images of a data set, beside the truth: what measures and pages of predictors look at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from unbraid.data import counter_rng
from unbraid.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from unbraid.data import Dataset
    from unbraid.objectives import Task
    from unbraid.training import Run

__all__ = [
    "Predictions",
    "class_names",
    "class_tasks",
    "draw_images",
    "has_classes",
    "predict_classes",
    "predict_factors",
    "scaled_factors",
    "task_of",
    "true_classes",
]

CHUNK = 2048
"""So many images are held at a time."""


@dataclass(frozen=True)
class Predictions:
    """Predictions beside the truth, one row per image."""

    index: np.ndarray
    """Positions in the data set, ascending."""
    outputs: np.ndarray
    """Class scores ``[n, classes]``, or scaled factors ``[n, K]``."""
    truth: np.ndarray
    """Classes ``[n]``, or scaled factors ``[n, K]``."""

    @property
    def cross_entropy(self) -> np.ndarray:
        """Of each image, in nats: ``[n]``."""
        shifted = self.outputs.astype(np.float64) - self.outputs.max(axis=1, keepdims=True)
        return np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(shifted)), self.truth]

    @property
    def squared_error(self) -> np.ndarray:
        """Of each image and factor: ``[n, K]``."""
        return (self.outputs.astype(np.float64) - self.truth) ** 2


def predict_classes(run: Run, data: Dataset, *, images: int, seed: int, factor: str = "") -> Predictions:
    """Class scores and true classes of at most so many images, drawn without repetition.

    The classes are the values of ``factor``, by default of the first that the run was trained for, if any.
    """
    index = draw_images(data, images, seed)
    truth = true_classes(run, data, index, factor)
    outputs = _predict(run, data, index, seed, task_of(run, factor))
    if outputs.ndim != 2 or truth.max(initial=0) >= outputs.shape[1]:
        raise UsageError(
            f"{data.name!r} has a class {truth.max(initial=0)}, and the model gives scores {list(outputs.shape)}: "
            "it was trained for other classes"
        )
    return Predictions(index, outputs, truth)


def predict_factors(run: Run, data: Dataset, *, images: int, seed: int) -> Predictions:
    """Predicted and true factors of at most so many images, drawn without repetition, scaled as in training."""
    names = run.problem.factor_names
    if data.factor_names != names:
        raise UsageError(
            f"the run predicts {', '.join(names)}, but the factors of {data.name!r} are "
            f"{', '.join(data.factor_names) or 'not known'}"
        )
    index = draw_images(data, images, seed)
    return Predictions(index, _predict(run, data, index, seed), scaled_factors(run, data.factors(index)))


def scaled_factors(run: Run, factors: np.ndarray) -> np.ndarray:
    """Factors ``[n, K]``, each scaled to [0, 1] over the range that the run was trained with."""
    low, high = np.array(run.problem.ranges, dtype=np.float64).T
    return (factors - low) / np.where(high > low, high - low, 1.0)


def class_tasks(run: Run) -> tuple[Task, ...]:
    """The sets of classes that a run names; none for a function in the place of a run."""
    found = run.tasks() if hasattr(run, "tasks") else ()
    return tuple(task for task in found if task.predicts == "classes")


def class_names(run: Run, data: Dataset, count: int, factor: str = "") -> tuple[str, ...]:
    """What the classes are called: as the data set does, or the values of a factor by number."""
    factor = factor or _trained_for(run)
    if factor:
        return tuple(f"{factor} {value}" for value in range(count))
    return data.classes if len(data.classes) == count else tuple(map(str, range(count)))


def has_classes(run: Run, data: Dataset, factor: str = "") -> bool:
    """Whether the true classes are known."""
    factor = factor or _trained_for(run)
    return (factor in data.factor_names and bool(data.factor_sizes)) if factor else data.has_labels


def true_classes(run: Run, data: Dataset, index: np.ndarray, factor: str = "") -> np.ndarray:
    """The classes of these images that a run should name: values of a factor, or the data set's own."""
    factor = factor or _trained_for(run)
    if not factor:
        return data.labels(index)
    if factor not in data.factor_names:
        raise unknown_name(f"factor of {data.name!r}:", factor, data.factor_names)
    return data.factors(index)[:, data.factor_names.index(factor)].astype(np.int64)


def _trained_for(run: Run) -> str:
    """The factor whose values the run names as classes, the first of several; empty for a data set's own classes."""
    return next((task.factor for task in class_tasks(run)), "")


def task_of(run: Run, factor: str) -> str:
    """Which of several tasks gives the values of a factor as classes, by default the first with classes.

    A task for a data set's own classes may be asked about any factor; one for the values of another factor may not.
    """
    tasks = class_tasks(run)
    others = [task.factor for task in tasks]
    if factor and tasks and all(others) and factor not in others:
        raise UsageError(f"factor {factor!r} is not what this run names: it was trained for {', '.join(others)}")
    return next((task.name for task in tasks if task.factor == factor), next((task.name for task in tasks), ""))


def draw_images(data: Dataset, images: int, seed: int) -> np.ndarray:
    """Positions of at most so many images, ascending, drawn without repetition; all of a smaller data set."""
    if images < 1:
        raise UsageError(f"images must be at least 1, got {images}")
    if images >= len(data):
        return np.arange(len(data))
    return np.sort(counter_rng(seed, 0).choice(len(data), size=images, replace=False))


def _predict(run: Run, data: Dataset, index: np.ndarray, seed: int, task: str = "") -> np.ndarray:
    predict = partial(run.predict, task=task) if task else run.predict
    parts = []
    for number, start in enumerate(range(0, len(index), CHUNK)):
        images = data.images(index[start : start + CHUNK], counter_rng(seed, number + 1))
        parts.append(predict(images))
    return np.concatenate(parts)

"""What a model says of images, whatever kind of model it is, checked before anything is counted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from unbraid.errors import UsageError
from unbraid.evaluation import Function, as_run, class_tasks, task_of
from unbraid.metrics import adapted

__all__ = ["Scorer", "check_scores", "confidences", "names_of"]


class Scorer:
    """Class scores ``[n, classes]`` of uint8 images: of a run that names classes, a torch module, or a function."""

    def __init__(self, predict: Any, name: str = "", factor: str = "") -> None:
        self.run = as_run(predict)
        self.name = name or names_of(predict)
        if isinstance(self.run, Function):
            # What a function gets at a time is decided here, and known to be what it can hold.
            self._predict: Callable[[np.ndarray], Any] = adapted(self.run.function)
            return
        if not self.run.can("predict") or not (class_tasks(self.run) or self.run.objective.predicts == "classes"):
            raise UsageError(
                f"{self.name} does not name classes: it was trained by {self.run.objective.name!r}. "
                "Train one: unbraid train classifier --data NAME --out FOLDER"
            )
        task = task_of(self.run, factor)
        self._predict = partial(self.run.predict, task=task) if task else self.run.predict

    def __call__(self, images: np.ndarray) -> np.ndarray:
        return check_scores(self._predict(images), len(images), self.name)


def names_of(predict: Any) -> str:
    """What a model is called where nobody gave it a name."""
    path = getattr(predict, "path", None)
    if path is not None:
        return str(path.resolve().name)
    return str(getattr(predict, "__name__", type(predict).__name__)).strip("<>")


def check_scores(found: Any, count: int, name: str) -> np.ndarray:
    """Scores as float64 ``[n, classes]``; -inf is the logarithm of zero and allowed."""
    if hasattr(found, "detach"):
        found = found.detach().cpu().numpy()
    scores = np.asarray(found)
    if scores.ndim != 2 or len(scores) != count or scores.dtype.kind not in "fiu":
        raise UsageError(
            f"{name} must give scores [n, classes], one row per image; of {count} images it gave "
            f"{scores.dtype} {list(scores.shape)}"
        )
    if scores.shape[1] < 2:
        raise UsageError(
            f"{name} gives scores of one class; two are the least. Of one number s for 'yes', give [-s, s]"
        )
    scores = scores.astype(np.float64)
    wrong = np.isnan(scores).any(axis=1) | (scores == np.inf).any(axis=1) | (scores == -np.inf).all(axis=1)
    if wrong.any():
        raise UsageError(
            f"{name} gives scores that are no numbers (NaN or infinite) for {int(wrong.sum())} of {count} images; "
            "did its training diverge?"
        )
    return scores


def check_width(labels: np.ndarray, scores: np.ndarray, name: str, data: str) -> None:
    """Refuse classes that have no score."""
    most = int(labels.max(initial=0))
    if most >= scores.shape[1]:
        raise UsageError(
            f"{name} gives scores of {scores.shape[1]} classes, and {data} has a class {most}: "
            "it was made for other classes"
        )


def confidences(scores: np.ndarray) -> np.ndarray:
    """Probabilities ``[n, classes]``: rows that are some already as they are, others by softmax."""
    already = (scores >= 0).all(axis=1) & (np.abs(scores.sum(axis=1) - 1) < 1e-4)
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.where(already[:, None], scores, shifted / shifted.sum(axis=1, keepdims=True))

"""What a score means: the exact R² of three predictors that need no training.

``constant`` always says the middle of the grid, ``train-mean`` the mean of the training side, ``clamp`` the truth moved
to the nearest value that the training side shows: a model that is perfect where it was trained and never leaves the
range it saw. R² of 0 is not what guessing gives on a systematic split, since the variance is that of the whole grid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unbraid.data import FactorSpace
from unbraid.errors import unknown_name
from unbraid.generalization.scores import Scores, grid_mean, grid_variance, space_of, targets

if TYPE_CHECKING:
    from unbraid.data import Dataset, Split

__all__ = ["BASELINES", "baseline", "clamp", "marginals", "mean_target", "predict_baseline"]

BASELINES = ("constant", "train-mean", "clamp")
BLOCK = 1 << 18


def marginals(data: Dataset) -> list[np.ndarray]:
    """How often each value of each factor occurs, counted block by block."""
    counts = [np.zeros(size, dtype=np.int64) for size in space_of(data).sizes]
    for start in range(0, len(data), BLOCK):
        rows = data.factors(np.arange(start, min(start + BLOCK, len(data))))
        for count, column in zip(counts, rows.T, strict=True):
            count += np.bincount(column, minlength=len(count))
    return counts


def mean_target(counts: Sequence[np.ndarray]) -> np.ndarray:
    """Mean of every scaled factor where its values occur so often."""
    return np.array([count @ np.arange(len(count)) / count.sum() / max(len(count) - 1, 1) for count in counts])


def clamp(factors: np.ndarray, space: FactorSpace, unseen: Mapping[str, Sequence[int]]) -> np.ndarray:
    """The truth, scaled, moved to the nearest value that is not unseen (the lower of two as near)."""
    nearest = _nearest(space, unseen)
    rows = np.asarray(factors)
    return targets(np.stack([near[column] for near, column in zip(nearest, rows.T, strict=True)], axis=1), space)


def predict_baseline(name: str, factors: np.ndarray, split: Split) -> np.ndarray:
    """What a baseline says of images with these factors, ``[n, K]``."""
    space = space_of(split.data)
    if name == "clamp":
        return clamp(factors, space, split.unseen)
    value = grid_mean(space) if name == "constant" else mean_target(marginals(split.train))
    return np.broadcast_to(value, np.shape(factors)).copy()


def baseline(name: str, split: Split, data: Dataset | None = None) -> Scores:
    """The exact scores of a baseline on the test side of a split, or on other images of the same grid.

    Errors of these predictors depend on one factor at a time, so counting values is enough: no image is looked at.
    """
    if name not in BASELINES:
        raise unknown_name("baseline", name, BASELINES)
    space = space_of(split.data)
    part = split.test if data is None else data
    counts = marginals(part)
    said = _said(name, space, split)
    errors = np.array(
        [
            count @ np.square(value - np.arange(size) / max(size - 1, 1)) / count.sum()
            for count, value, size in zip(counts, said, space.sizes, strict=True)
        ]
    )
    return Scores(space.names, 1 - errors / grid_variance(space), errors, len(part))


def _said(name: str, space: FactorSpace, split: Split) -> list[np.ndarray]:
    if name == "clamp":
        return [near / max(len(near) - 1, 1) for near in _nearest(space, split.unseen)]
    means = grid_mean(space) if name == "constant" else mean_target(marginals(split.train))
    return [np.full(size, mean) for size, mean in zip(space.sizes, means, strict=True)]


def _nearest(space: FactorSpace, unseen: Mapping[str, Sequence[int]]) -> list[np.ndarray]:
    tables = []
    for name, size in zip(space.names, space.sizes, strict=True):
        seen = np.setdiff1d(np.arange(size), np.asarray(unseen.get(name, ()), dtype=np.int64))
        tables.append(seen[np.abs(np.arange(size)[:, None] - seen).argmin(axis=1)])
    return tables

"""The draws behind the two interventional scores: images that share one factor's value and differ in all others."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from unbraid.metrics._encode import Space

__all__ = ["Groups", "Ideal", "Pairs", "Rows", "by_points", "draw_groups", "draw_pairs"]


class Rows(Protocol):
    """Codes that are looked up by the rows asked for."""

    def __getitem__(self, rows: slice) -> np.ndarray: ...


@dataclass(frozen=True)
class Pairs:
    """Per point ``batch`` pairs of images; within a pair the factor ``shared`` has one value."""

    shared: np.ndarray
    """Which factor, int ``[points]``."""
    index: np.ndarray
    """Positions, int ``[points, batch, 2]``."""


@dataclass(frozen=True)
class Groups:
    """Per point ``batch`` images in which the factor ``shared`` has one value, and a plain sample for scales."""

    shared: np.ndarray
    """Which factor, int ``[points]``."""
    index: np.ndarray
    """Positions, int ``[points, batch]``."""
    plain: np.ndarray
    """Positions of independent images, int ``[plain]``."""


def draw_pairs(space: Space, points: int, batch: int, rng: np.random.Generator) -> Pairs:
    """All pairs of the BetaVAE score at once."""
    shared = rng.integers(len(space.sizes), size=points)
    left, right = space.sample(points * batch, rng), space.sample(points * batch, rng)
    rows, column = np.arange(points * batch), np.repeat(shared, batch)
    right[rows, column] = left[rows, column]
    index = np.stack([space.index(left), space.index(right)], axis=-1)
    return Pairs(shared, index.reshape(points, batch, 2))


def draw_groups(space: Space, points: int, batch: int, plain: int, rng: np.random.Generator) -> Groups:
    """All groups of the FactorVAE score at once."""
    shared = rng.integers(len(space.sizes), size=points)
    factors = space.sample(points * batch, rng)
    rows, column = np.arange(points * batch), np.repeat(shared, batch)
    first = np.repeat(np.arange(points) * batch, batch)
    factors[rows, column] = factors[first, column]
    index = space.index(factors).reshape(points, batch)
    return Groups(shared, index, space.index(space.sample(plain, rng)))


class Ideal:
    """The factors themselves as codes of drawn positions, each with the variance 1 that uniform draws give it."""

    def __init__(self, space: Space, index: np.ndarray) -> None:
        self.space, self.index = space, index
        self.scale = np.sqrt((np.array(space.sizes) ** 2 - 1) / 12)

    def __getitem__(self, rows: slice) -> np.ndarray:
        return self.space.factors(self.index[rows]) / self.scale


def by_points(
    codes: Rows, first: int, points: int, rows_per_point: int, summary: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """``summary`` of the codes ``[points, rows, d]`` of some points at a time: millions of rows would not fit a cache.

    ``first`` is the row at which the first point begins.
    """
    some = max(1, 50_000 // rows_per_point)
    parts = []
    for start in range(0, points, some):
        stop = min(start + some, points)
        rows = codes[slice(first + start * rows_per_point, first + stop * rows_per_point)]
        parts.append(summary(rows.reshape(stop - start, rows_per_point, -1)))
    return np.concatenate(parts)

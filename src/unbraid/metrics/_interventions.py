"""What interventional scores draw, which choose factor values: images that share one factor's value, and the like."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from unbraid.metrics._encode import FactorData, Space, check_space, encode_index, encoder_of
from unbraid.metrics._score import Score, check_seed

__all__ = [
    "Groups",
    "Ideal",
    "Pairs",
    "Plan",
    "Rows",
    "Sampling",
    "by_points",
    "carry_out",
    "draw_groups",
    "draw_pairs",
]


class Rows(Protocol):
    """Codes that are looked up by the rows asked for."""

    def __getitem__(self, rows: slice) -> np.ndarray: ...


@dataclass(frozen=True)
class Sampling:
    """How much an interventional score may draw."""

    train: int = 10_000
    """Images to learn from."""
    test: int = 5_000
    """Images to judge on."""
    batch: int = 64
    """Images of a group."""
    points: tuple[int, int] | None = None
    """Groups to learn from and to judge on; without, as many as images."""

    @property
    def groups(self) -> tuple[int, int]:
        return self.points or (self.train, self.test)


@dataclass(frozen=True)
class Plan:
    """What an interventional score wants to see, and what it makes of it."""

    index: np.ndarray
    """Positions of images, in the order of the codes."""
    score: Callable[[Rows], Score]
    """From the codes of these positions to the score."""


def carry_out(
    plan: Callable[..., Plan], encode: Any, data: FactorData, sampling: Sampling, *, seed: int, **options: Any
) -> Score:
    """An interventional score for itself: plan, encode, score."""
    space, encoder = check_space(data), encoder_of(encode)
    made = plan(space, sampling, seed=check_seed(seed), **options)
    return made.score(encode_index(encoder, data, made.index, seed=seed))


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

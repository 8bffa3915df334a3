"""The draws behind the two interventional scores: images that share one factor's value and differ in all others."""

from dataclasses import dataclass

import numpy as np

from unbraid.metrics._encode import Space

__all__ = ["Groups", "Pairs", "draw_groups", "draw_pairs", "ideal_codes"]


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


def ideal_codes(space: Space, index: np.ndarray) -> np.ndarray:
    """The factors themselves as codes, each with the variance 1 that uniform draws give it: ``[n, K]``."""
    sizes = np.array(space.sizes)
    return space.factors(index) / np.sqrt((sizes**2 - 1) / 12)

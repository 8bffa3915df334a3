"""What a claim's measure gives to its rule: numbers of runs, one small type per kind of question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unbraid.errors import UsageError

__all__ = ["Images", "Measured", "Numbers", "Pairs", "Points", "Ranked", "Share", "Spread", "Values"]


@dataclass(frozen=True)
class Pairs:
    """Two numbers of every seed, in the order in which the first should be larger."""

    each: Mapping[int, tuple[float, float]]

    @property
    def values(self) -> np.ndarray:
        """Their differences."""
        return np.array([first - second for first, second in self.each.values()], float)

    def rows(self) -> list[list[float]]:
        return [[seed, float(first), float(second)] for seed, (first, second) in self.each.items()]


@dataclass(frozen=True)
class Values:
    """A number of every seed."""

    each: Mapping[int, float]

    @property
    def values(self) -> np.ndarray:
        return np.array(list(self.each.values()), float)

    def rows(self) -> list[list[float]]:
        return [[seed, float(value)] for seed, value in self.each.items()]


@dataclass(frozen=True)
class Share:
    """So many of independent units, seeds or images, for which something is true."""

    hits: int
    of: int

    def __post_init__(self) -> None:
        if not 0 <= self.hits <= self.of or self.of < 1:
            raise UsageError(f"a share is hits of a number of units, at least one; got {self.hits} of {self.of}")

    def rows(self) -> list[list[float]]:
        return [[self.hits, self.of]]


@dataclass(frozen=True)
class Points:
    """Two numbers of every run; runs of different ``strata`` are ranked apart."""

    x: Sequence[float]
    y: Sequence[float]
    strata: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not len(self.x) == len(self.y) == len(self.strata or self.x):
            raise UsageError(f"points need as many x as y and strata, got {len(self.x)}, {len(self.y)}")

    def rows(self) -> list[list[float]]:
        return [[float(x), float(y)] for x, y in zip(self.x, self.y, strict=True)]


@dataclass(frozen=True)
class Images:
    """Smallest distances of every image of every seed, of two models that were shown the same ones."""

    first: Mapping[int, Sequence[float]]
    second: Mapping[int, Sequence[float]]

    def __post_init__(self) -> None:
        if set(self.first) != set(self.second) or not self.first:
            raise UsageError(f"both models need the same seeds, got {sorted(self.first)} and {sorted(self.second)}")

    def rows(self) -> list[list[float]]:
        return [
            [seed, float(np.median(np.asarray(self.first[seed]))), float(np.median(np.asarray(self.second[seed])))]
            for seed in self.first
        ]


@dataclass(frozen=True)
class Spread:
    """A model per seed, and several others per seed, whose standard deviations are compared."""

    each: Mapping[int, float]
    others: Mapping[int, Sequence[float]]

    def rows(self) -> list[list[float]]:
        return [[seed, float(value), *map(float, self.others.get(seed, ()))] for seed, value in self.each.items()]


@dataclass(frozen=True)
class Ranked:
    """Scores of methods by cell, ``[cells, methods]``, the larger the better; and which of them is claimed best."""

    methods: tuple[str, ...]
    scores: np.ndarray
    mine: str

    def rows(self) -> list[list[float]]:
        return np.asarray(self.scores, float).tolist()


@dataclass(frozen=True)
class Numbers:
    """Numbers of a table as a whole, that limits are put to."""

    each: Mapping[str, float]

    def rows(self) -> list[list[float]]:
        return [[float(value)] for value in self.each.values()]


Measured = Pairs | Values | Share | Points | Images | Spread | Ranked | Numbers

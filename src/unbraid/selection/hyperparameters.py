"""The hyperparameters a population searches: where they start, how far they may go, and how explore moves them.

Values of Estermann, Marks & Yanik (2020); the four factors stand in for the two (0.8, 1.2) of Jaderberg et al. (2017).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unbraid.errors import UsageError
from unbraid.objectives import Objective

__all__ = ["FACTORS", "Hyperparameters", "Range", "default_ranges", "draw", "explore", "starting_from"]

Hyperparameters = dict[str, float]

FACTORS = (2.0, 1.2, 0.8, 0.5)
"""What explore multiplies a hyperparameter by."""
LEARNING_RATES = tuple(float(f"{value:.6g}") for value in np.logspace(-5, 0, 30))
BATCH_SIZES = (8, 16, 32, 64, 128, 256, 512, 1024)
BETAS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 37, 47, 60, 77, 99, 127, 163, 208, 267, 342, 437)


@dataclass(frozen=True)
class Range:
    """Values of one hyperparameter."""

    values: tuple[float, ...]
    """Where members start: one of these, each as likely."""
    low: float = 0.0
    """Explore goes no lower ..."""
    high: float | None = None
    """... and no higher."""
    whole: bool = False
    """Whether it is a whole number; explore then rounds up."""
    between: bool = False
    """Whether members start anywhere between the two values, all as likely."""

    def __post_init__(self) -> None:
        top = math.inf if self.high is None else self.high
        if not self.values or not all(self.low <= value <= top for value in self.values):
            raise UsageError(f"values must lie in {self.low:g}..{top:g} and not be empty, got {self.values}")
        if self.between and (len(self.values) != 2 or not self.values[0] < self.values[1]):
            raise UsageError(f"a range has a lower and an upper end, such as 1..16; got {self.values}")

    def start(self, rng: np.random.Generator) -> float:
        """A value that a member starts from."""
        if not self.between:
            return self.values[rng.integers(len(self.values))]
        low, high = self.values
        return int(rng.integers(int(low), int(high) + 1)) if self.whole else float(rng.uniform(low, high))

    def moved(self, value: float, factor: float) -> float:
        """The value times a factor, within bounds.

        >>> Range((8, 1024), low=8, high=1024, whole=True).moved(1024, 2), Range((5,), whole=True).moved(5, 0.5)
        (1024, 3)
        """
        product = max(math.ceil(value * factor) if self.whole else value * factor, self.low)
        bounded = product if self.high is None else min(product, self.high)
        return int(bounded) if self.whole else float(bounded)


def default_ranges(objective: type[Objective] | Objective, *, clip: bool = True) -> dict[str, Range]:
    """Learning rate, batch size and the strength of an objective (its swept option, if it has one).

    ``clip=False`` removes all bounds but the largest batch size, as in the published code; rates near 1 then diverge
    more often. A strength called beta starts from the published 23 whole values, any other from the objective's own.
    """
    ranges = {
        "learning_rate": Range(LEARNING_RATES, 1e-6, 1.0),
        "batch_size": Range(BATCH_SIZES, 8, 1024, whole=True),
    }
    if objective.sweep is not None:
        name, values = objective.sweep
        ranges[name] = (
            Range(BETAS, 1, 1000, whole=True)
            if name == "beta"
            else Range(tuple(float(value) for value in values), min(values) / 10, max(values) * 10)
        )
    if clip:
        return ranges
    return {
        name: replace(found, low=1.0 if found.whole else 0.0, high=1024 if name == "batch_size" else None)
        for name, found in ranges.items()
    }


def starting_from(name: str, words: Sequence[str], known: Range | None = None) -> Range:
    """A range that starts from values given as text, with the bounds of the known one as far as they hold.

    >>> starting_from("beta", ["1", "2.5"]).values
    (1.0, 2.5)
    >>> starting_from("gamma", ["1..16"]).between  # anywhere from 1 to 16
    True
    """
    between = len(words) == 1 and ".." in words[0]
    words = words[0].split("..", 1) if between else words
    try:
        values = tuple(float(word) for word in words)
    except ValueError as error:
        raise UsageError(f"values of {name} must be numbers, got {', '.join(words)}") from error
    bounds = known or Range(values)
    if bounds.whole:
        if any(value != int(value) for value in values):
            raise UsageError(f"values of {name} must be whole numbers, got {', '.join(words)}")
        values = tuple(int(value) for value in values)
    high = None if bounds.high is None else max(bounds.high, *values)
    return Range(values, min(bounds.low, *values), high, bounds.whole, between)


def draw(ranges: Mapping[str, Range], rng: np.random.Generator) -> Hyperparameters:
    """Where a new member starts."""
    return {name: found.start(rng) for name, found in ranges.items()}


def explore(
    values: Mapping[str, float],
    ranges: Mapping[str, Range],
    rng: np.random.Generator,
    *,
    factors: tuple[float, ...] = FACTORS,
    resample: float = 0.0,
) -> Hyperparameters:
    """Multiply every hyperparameter by a factor of its own, or with probability ``resample`` draw it anew."""
    moved: Hyperparameters = {}
    for name, found in ranges.items():
        anew, start, factor = rng.random(), found.start(rng), factors[rng.integers(len(factors))]
        moved[name] = start if anew < resample else found.moved(values[name], factor)
    return moved

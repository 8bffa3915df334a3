"""What a change of recipe does to one number: differences to the unchanged twin, paired by seed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from unbraid.errors import UsageError

__all__ = ["ERRORS", "FEWEST", "Effect", "Word", "effect_of", "holm"]

Word = Literal["better", "worse", "unchanged", "undecided"]
FEWEST = 3
"""With fewer seeds nothing is decided."""
ERRORS = 2.0
"""So many standard errors a difference must be away from nothing."""


@dataclass(frozen=True)
class Effect:
    """A cell of the matrix: the mean difference to the twin, what it is uncertain by, and a word."""

    scenario: str
    seeds: tuple[int, ...]
    """Those that both models were trained with."""
    values: tuple[float, ...]
    """The model's number, by seed."""
    twins: tuple[float, ...]
    """The twin's."""
    interest: float
    """The smallest difference that matters, in units of the number."""
    p: float = math.nan
    """Two-sided, of the paired t-test; not a number with fewer than two seeds."""
    adjusted: float = math.nan
    """The same after Holm's correction over the row; see :func:`holm`."""

    @property
    def differences(self) -> np.ndarray:
        return np.subtract(self.values, self.twins)

    @property
    def mean(self) -> float:
        """The effect."""
        return float(np.mean(self.differences)) if self.seeds else math.nan

    @property
    def error(self) -> float:
        """Standard error of the mean over seeds; not a number for a single one."""
        count = len(self.seeds)
        return float(np.std(self.differences, ddof=1) / math.sqrt(count)) if count > 1 else math.nan

    @property
    def word(self) -> Word:
        """``better`` or ``worse`` if the effect is larger than two standard errors and than what is of interest."""
        if len(self.seeds) < FEWEST or not math.isfinite(self.mean):
            return "undecided"
        if abs(self.mean) > ERRORS * self.error and abs(self.mean) > self.interest * (1 + 1e-9):
            return "better" if self.mean > 0 else "worse"
        return "unchanged"

    @property
    def survives(self) -> bool:
        """Whether it is still there at 5 % when the whole row is looked at."""
        return self.word in ("better", "worse") and self.adjusted < 0.05

    def __str__(self) -> str:
        around = "" if math.isnan(self.error) else f" ± {self.error:.3g}"
        return f"{self.scenario}: {self.word}, {self.mean:+.3g}{around} ({len(self.seeds)} seeds)"


def effect_of(
    scenario: str,
    values: Mapping[int, float],
    twins: Mapping[int, float],
    *,
    interest: float = 0.01,
    relative: bool = False,
) -> Effect:
    """The effect from the numbers of a model and of its twin, each by seed; seeds that one of them lacks are left out.

    ``interest`` is the smallest effect of interest; if ``relative``, as a share of the twin's mean.

    >>> effect_of("noise", {0: 0.80, 1: 0.82, 2: 0.81}, {0: 0.70, 1: 0.71, 2: 0.70}).word
    'better'
    """
    if not interest >= 0:
        raise UsageError(f"interest must not be negative, got {interest}")
    seeds = sorted(set(values) & set(twins))
    seeds = [seed for seed in seeds if math.isfinite(values[seed]) and math.isfinite(twins[seed])]
    own, others = tuple(float(values[seed]) for seed in seeds), tuple(float(twins[seed]) for seed in seeds)
    least = interest * abs(float(np.mean(others))) if relative and others else interest
    found = Effect(scenario, tuple(seeds), own, others, least)
    return replace(found, p=_p_value(found))


def holm(effects: Sequence[Effect]) -> list[Effect]:
    """The effects of a row with p-values adjusted by Holm (1979): the k-th smallest of m times m - k + 1, rising."""
    order = sorted((k for k, one in enumerate(effects) if not math.isnan(one.p)), key=lambda k: effects[k].p)
    adjusted, least = {}, 0.0
    for rank, k in enumerate(order):
        least = max(least, min(1.0, (len(order) - rank) * effects[k].p))
        adjusted[k] = least
    return [replace(one, adjusted=adjusted.get(k, math.nan)) for k, one in enumerate(effects)]


def _p_value(found: Effect) -> float:
    if len(found.seeds) < 2:
        return math.nan
    if found.error == 0:
        return 1.0 if found.mean == 0 else 0.0
    from scipy.stats import t

    return float(2 * t.sf(abs(found.mean) / found.error, len(found.seeds) - 1))

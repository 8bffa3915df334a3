"""What the seeds say of a conclusion: intervals by leaving seeds out, and a verdict that may be undecided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import polars as pl

from unbraid.errors import UsageError
from unbraid.evaluation import Verdict, verdict

__all__ = ["Above", "Alike", "AtLeast", "Below", "Condition", "jackknife", "over_seeds", "without_seeds"]

Whole = TypeVar("Whole")

GROUPS = 10
"""Most groups of seeds that are left out in turn."""


_COARSE = ", a count that no seed changes: the interval knows nothing of other models"


@dataclass(frozen=True)
class Condition:
    """A number that must lie on one side of a limit."""

    name: str
    value: float
    limit: float
    span: tuple[float, float] = (-np.inf, np.inf)
    """What is possible at all; an interval does not go beyond."""
    counted: bool = False
    """Whether it counts models, so that all seeds may agree by its coarseness alone."""

    sign = 1

    def met(self, low: float, high: float) -> bool | None:
        """Whether an interval lies on the right side; neither if the limit is inside."""
        worst, best = sorted((self.sign * (low - self.limit), self.sign * (high - self.limit)))
        return True if worst > 0 else False if best <= 0 else None


class Above(Condition):
    """More than the limit."""


class Below(Condition):
    """Less than the limit."""

    sign = -1


class AtLeast(Condition):
    """A gain of the limit or more that is no chance: the number reaches it and its interval lies above 0.

    A gain whose interval ends below the limit is none, however sure its sign.
    """

    def met(self, low: float, high: float) -> bool | None:
        return True if self.value >= self.limit and low > 0 else False if high < self.limit else None


class Alike(Condition):
    """A difference of less than the limit, to either side."""

    def met(self, low: float, high: float) -> bool | None:
        if -self.limit < low and high < self.limit:
            return True
        return False if low > self.limit or high < -self.limit else None


def jackknife(whole: float, without: Sequence[float], *, level: float = 0.95) -> tuple[float, float]:
    """The interval of a number from its values without each group in turn, by the jackknife and Student's t.

    The standard error is ``sqrt((n - 1) / n sum (x_i - mean)^2)``; of a mean it is the usual one.

    >>> low, high = jackknife(2.0, [2.5, 2.0, 1.5])  # the mean of 1, 2, 3 without each: 1 / sqrt(3) is its error
    >>> round((high - low) / 2 / 4.3027, 3)
    0.577
    """
    from scipy.stats import t

    values = np.asarray(without, float)
    n = len(values)
    error = float(np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum()))
    reach = float(t.ppf(0.5 + level / 2, n - 1)) * error
    return whole - reach, whole + reach


def over_seeds(table: pl.DataFrame, check: Callable[[pl.DataFrame], tuple[str, list[Condition]]]) -> Verdict:
    """The verdict of a check, whose numbers get 95 % intervals by leaving out the runs of one seed after the other.

    Runs of different seeds are independent; scores of one run are not, nor are cells of one table. So what may vary is
    the seed. The claim holds if every interval lies on the right side, does not if one lies on the wrong side, and is
    undecided otherwise. With one seed nothing is known of luck: undecided, too. More than ten seeds are left
    out in ten groups.
    """
    seeds = table["seed"].unique().sort().to_list()
    return without_seeds(table, seeds, lambda left: table.filter(~pl.col("seed").is_in(left)), check)


def without_seeds(
    whole: Whole,
    seeds: Sequence[int],
    without: Callable[[list[int]], Whole],
    check: Callable[[Whole], tuple[str, list[Condition]]],
) -> Verdict:
    """:func:`over_seeds` of anything that can leave seeds out, such as several tables of the same runs."""
    text, conditions = check(whole)
    groups = np.array_split(np.array(seeds), min(GROUPS, len(seeds))) if seeds else []
    numbers = {one.name: one.value for one in conditions}
    if len(groups) < 2:
        return Verdict("undecided", numbers, f"{text}; one seed tells nothing of luck")
    try:
        others = [check(without(group.tolist()))[1] for group in groups]
    except UsageError as error:
        return Verdict("undecided", numbers, f"{text}; without some seeds it cannot be asked ({error})")
    answers, told = [], []
    for position, one in enumerate(conditions):
        around = jackknife(one.value, [other[position].value for other in others])
        low, high = (float(np.clip(end, *one.span)) for end in around)
        answers.append(one.met(low, high))
        told.append(f"{one.name} {low:.3g} to {high:.3g}" + (_COARSE if one.counted and low == high else ""))
        numbers |= {f"{one.name} low": low, f"{one.name} high": high}
    holds = False if False in answers else True if all(answers) else None
    return verdict(holds, f"{text} [95 %: {', '.join(told)}]", **numbers)

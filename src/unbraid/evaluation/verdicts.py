"""One type for what is concluded from numbers: findings of studies, claims of comparisons, cells of a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import unknown_name

__all__ = ["Verdict", "Word", "mean_interval", "told", "verdict"]

Word = Literal[
    "holds", "does not hold", "undecided", "cannot say",
    "transferable", "broad", "specific", "overfitting", "costly", "without effect", "harmful",
    "orthogonal", "symbiotic", "exclusive",
]  # fmt: skip
"""Of a claim: ``undecided`` if the numbers are there and do not settle it, ``cannot say`` if they are not there.

What a bias buys outside the training domain, and what two of them do together, have words of their own:
:func:`unbraid.transfer.verdict` and :func:`unbraid.transfer.combination` say what they mean.
"""


@dataclass(frozen=True)
class Verdict:
    """A word, the numbers it rests on, and a sentence that says them.

    >>> print(Verdict("holds", {"share": 0.8}, "8 of 10 runs"))
    holds: 8 of 10 runs
    """

    word: Word
    numbers: Mapping[str, float] = field(default_factory=dict)
    sentence: str = ""

    def __post_init__(self) -> None:
        if self.word not in get_args(Word):
            raise unknown_name("word of a verdict", self.word, get_args(Word))

    @property
    def holds(self) -> bool | None:
        """Yes, no, or neither; words that answer no such question are neither."""
        return {"holds": True, "does not hold": False}.get(self.word)

    def __str__(self) -> str:
        return f"{self.word}: {self.sentence}" if self.sentence else self.word


def told(found: Verdict, *, strong: str = "") -> tuple[str, str]:
    """The word and the sentence of a verdict as cells of a table; ``strong`` stands around a word that says no.

    >>> told(Verdict("does not hold", {}, "2|10 runs"), strong="**")
    ('**does not hold**', '2/10 runs')
    """
    word = f"{strong}{found.word}{strong}" if found.word == "does not hold" else found.word
    return word, found.sentence.replace("|", "/") if strong else found.sentence


def verdict(holds: bool | None, sentence: str, /, **numbers: float) -> Verdict:
    """The verdict of a rule that was applied to numbers; without an answer it is undecided.

    >>> verdict(3 > 2, "3 is more than 2", first=3, second=2).word
    'holds'
    """
    word: Word = "undecided" if holds is None else "holds" if holds else "does not hold"
    return Verdict(word, {name: float(value) for name, value in numbers.items()}, sentence)


def mean_interval(values: ArrayLike, *, level: float = 0.95) -> tuple[float, float]:
    """The interval of a mean over seeds by Student's t; without end for one seed.

    >>> low, high = mean_interval([1.0, 2.0, 3.0])  # 1 / sqrt(3) is the standard error of the mean
    >>> round((high - low) / 2 / 4.3027, 3)
    0.577
    """
    from scipy.stats import t

    found = np.asarray(values, float)
    if len(found) < 2:
        return -np.inf, np.inf
    reach = float(t.ppf(0.5 + level / 2, len(found) - 1)) * found.std(ddof=1) / np.sqrt(len(found))
    return float(found.mean() - reach), float(found.mean() + reach)

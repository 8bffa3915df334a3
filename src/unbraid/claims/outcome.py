"""How a rule ends: a verdict, the numbers that decided, and a sentence that says them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["VERDICTS", "Outcome", "VerdictWord", "combined", "decided"]

VerdictWord = Literal["reproduced", "not reproduced", "inconclusive", "not judged", "not run"]
VERDICTS: tuple[VerdictWord, ...] = ("reproduced", "not reproduced", "inconclusive", "not judged", "not run")


@dataclass(frozen=True)
class Outcome:
    """What a rule says of one contrast."""

    verdict: VerdictWord
    sentence: str
    statistic: dict[str, Any] = field(default_factory=dict)
    """n, mean, sd, se, k, low, high, point, p_value: those that a rule has."""


def decided(holds: bool, fails: bool) -> VerdictWord:
    """Reproduced, not reproduced, or neither."""
    return "reproduced" if holds else "not reproduced" if fails else "inconclusive"


def combined(outcomes: Sequence[Outcome]) -> VerdictWord:
    """Of a claim of several contrasts: reproduced if all are, not reproduced if any is not, else inconclusive."""
    words = [one.verdict for one in outcomes]
    return decided(bool(words) and all(word == "reproduced" for word in words), "not reproduced" in words)

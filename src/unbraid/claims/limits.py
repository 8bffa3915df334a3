"""Limits that numbers are held to: above, at least, below, at most, near."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Limit", "above", "at_least", "at_most", "below", "near"]

Side = Literal["above", "at least", "below", "at most", "within"]


@dataclass(frozen=True)
class Limit:
    """Where a number must lie; one that is not a number lies nowhere.

    >>> near(1.0607, 0.003).met(1.0610), above(0.5).met(0.5), str(at_most(-0.3))
    (True, False, 'at most -0.3')
    """

    side: Side
    value: float
    tolerance: float = 0.0

    def met(self, number: float) -> bool:
        """Whether a number lies there."""
        return {
            "above": number > self.value,
            "at least": number >= self.value,
            "below": number < self.value,
            "at most": number <= self.value,
            "within": abs(number - self.value) <= self.tolerance,
        }[self.side]

    def __str__(self) -> str:
        if self.side == "within":
            return f"within {self.tolerance:g} of {self.value:g}"
        return f"{self.side} {self.value:g}"


def above(value: float) -> Limit:
    """More than this."""
    return Limit("above", value)


def at_least(value: float) -> Limit:
    """This or more."""
    return Limit("at least", value)


def below(value: float) -> Limit:
    """Less than this."""
    return Limit("below", value)


def at_most(value: float) -> Limit:
    """This or less."""
    return Limit("at most", value)


def near(value: float, tolerance: float) -> Limit:
    """This, up to a tolerance."""
    return Limit("within", value, tolerance)

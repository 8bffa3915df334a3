"""Rules by limits: exact results, and conditions that must hold with every seed left out in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unbraid.claims.limits import Limit
from unbraid.claims.measured import Measured, Numbers
from unbraid.claims.outcome import Outcome, decided
from unbraid.claims.rules import Rule
from unbraid.errors import UsageError

__all__ = ["J", "X"]

Limits = Mapping[str, Limit]


def _met(limits: Limits, measured: Measured) -> bool:
    if not isinstance(measured, Numbers):
        raise UsageError(f"this rule is about numbers by name, got {type(measured).__name__}")
    lacking = [name for name in limits if name not in measured.each]
    if lacking:
        raise UsageError(f"the rule asks for {lacking[0]!r}, measured were {', '.join(measured.each)}")
    return all(limit.met(measured.each[name]) for name, limit in limits.items())


def _told(limits: Limits, measured: Measured) -> str:
    assert isinstance(measured, Numbers)
    return ", ".join(f"{name} {measured.each[name]:.4g} ({limit} is asked)" for name, limit in limits.items())


def _words(limits: Limits) -> str:
    return " and ".join(f"{name} {limit}" for name, limit in limits.items())


@dataclass(frozen=True)
class X(Rule):
    """Exact or deterministic: every number within its limit."""

    letter = "X"
    about = "every number within its limit; else not reproduced"
    statistical = False
    limits: Limits

    def judge(self, measured: Measured) -> Outcome:
        holds = _met(self.limits, measured)
        return Outcome(decided(holds, not holds), _told(self.limits, measured))

    def constants(self) -> dict[str, Any]:
        return {name: str(limit) for name, limit in self.limits.items()}

    def __str__(self) -> str:
        return f"X({_words(self.limits)})"


@dataclass(frozen=True)
class J(Rule):
    """A condition on a table, asked of all seeds and with each seed left out in turn.

    A bootstrap would repeat runs and shrink the variance within groups. ``fails`` is what the opposite is, where it is
    not simply that the condition does not hold; without limits nothing is the opposite.
    """

    letter = "J"
    about = "true with all seeds and without each in turn; not reproduced if never true; else inconclusive"
    holds: Limits
    fails: Limits | None = None

    def judge(self, measured: Measured) -> Outcome:
        return self.judge_each([measured])

    def judge_each(self, measured: Sequence[Measured]) -> Outcome:
        """The table as a whole first, then without each seed."""
        true = [_met(self.holds, one) for one in measured]
        opposite = [not one for one in true]
        if self.fails is not None:
            opposite = [bool(self.fails) and _met(self.fails, one) for one in measured]
        alone = len(measured) < 2
        word = "inconclusive" if alone else decided(all(true), all(opposite))
        told = _told({**self.holds, **(self.fails or {})}, measured[0])
        sentence = f"{told}; true in {sum(true)} of {len(true)} tables (all seeds, and without each in turn)"
        return Outcome(word, sentence, {"n": len(measured) - 1, "true": sum(true), "tables": len(true)})

    def constants(self) -> dict[str, Any]:
        found: dict[str, Any] = {name: str(limit) for name, limit in self.holds.items()}
        if self.fails is not None:
            found["not reproduced if"] = _words(self.fails) or "never"
        return found

    def __str__(self) -> str:
        return f"J({_words(self.holds)})"

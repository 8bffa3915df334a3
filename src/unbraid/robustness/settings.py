"""What an adversary may do, checked before torch is imported."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from unbraid.errors import UsageError, unknown_name

__all__ = ["ADVERSARIES", "DIRECTIONS", "Adversary"]

ADVERSARIES = {"linf": "pgd", "l2": "ddn"}
"""The usual attack in each norm."""
USUAL: dict[str, dict[str, Any]] = {
    "pgd": {"steps": 100, "step_size": None, "restarts": 1},
    "ddn": {"steps": 100, "gamma": 0.05},
}
"""Their options, with what they are unless given."""
DIRECTIONS = ("gaussian", "uniform", "learned")
"""Kinds of noise by name."""


@dataclass(frozen=True)
class Adversary:
    """An attack with its settings; what is ``None`` was not told, and the attack has its own."""

    norm: str
    eps: float
    attack: str
    steps: int | None = None
    step_size: float | None = None
    gamma: float | None = None
    restarts: int | None = None

    def __post_init__(self) -> None:
        if self.norm not in ADVERSARIES:
            raise unknown_name("norm", self.norm, ADVERSARIES)
        if not 0 < self.eps < math.inf:
            raise UsageError(f"eps must be a number above 0, in units of the range [0, 1] of pixels, got {self.eps}")
        if self.norm == "linf" and self.eps > 1:
            raise UsageError(f"eps in linf is at most 1, the range of pixels, got {self.eps}; 8 of 255 is 8 / 255")
        for name in ("steps", "restarts"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} must be at least 1, got {value}")
        if self.step_size is not None and not 0 < self.step_size < math.inf:
            raise UsageError(f"step_size must be a number above 0, got {self.step_size}")
        if self.gamma is not None and not 0 < self.gamma < 1:
            raise UsageError(f"gamma must lie between 0 and 1, got {self.gamma}")

    def options(self) -> dict[str, Any]:
        """What the attack is told. The usual two are told all that belongs to them, others what was given."""
        told = {name: getattr(self, name) for name in ("steps", "step_size", "gamma", "restarts")}
        if self.attack in USUAL:
            return {name: USUAL[self.attack][name] if told[name] is None else told[name] for name in USUAL[self.attack]}
        return {name: value for name, value in told.items() if value is not None}

    def record(self, minimal: bool) -> dict[str, Any]:
        """What is written down: an attack that finds the nearest image by itself knows no radius."""
        told = {name: value for name, value in self.options().items() if value is not None}
        if self.attack == "ddn":
            return told
        return {"norm": self.norm, **({} if minimal else {"eps": self.eps}), **told}

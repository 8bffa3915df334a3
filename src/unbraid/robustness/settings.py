"""What an adversary may do, checked before torch is imported."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from unbraid.errors import UsageError, unknown_name

__all__ = ["ADVERSARIES", "DIRECTIONS", "Adversary"]

ADVERSARIES = {"linf": "pgd", "l2": "ddn"}
"""The usual attack in each norm."""
DIRECTIONS = ("gaussian", "uniform", "learned")
"""Kinds of noise by name."""


@dataclass(frozen=True)
class Adversary:
    """An attack with its settings."""

    norm: str
    eps: float
    attack: str
    steps: int = 100
    step_size: float | None = None
    gamma: float = 0.05
    restarts: int = 1

    def __post_init__(self) -> None:
        if self.norm not in ADVERSARIES:
            raise unknown_name("norm", self.norm, ADVERSARIES)
        if not 0 < self.eps < math.inf:
            raise UsageError(f"eps must be a number above 0, in units of the range [0, 1] of pixels, got {self.eps}")
        if self.norm == "linf" and self.eps > 1:
            raise UsageError(f"eps in linf is at most 1, the range of pixels, got {self.eps}; 8 of 255 is 8 / 255")
        for name in ("steps", "restarts"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.step_size is not None and not 0 < self.step_size < math.inf:
            raise UsageError(f"step_size must be a number above 0, got {self.step_size}")
        if not 0 < self.gamma < 1:
            raise UsageError(f"gamma must lie between 0 and 1, got {self.gamma}")

    def options(self, minimal: bool) -> dict[str, Any]:
        """What the attack is told: one that finds the nearest image knows no radius."""
        if minimal:
            return {"steps": self.steps, "gamma": self.gamma}
        size = {} if self.step_size is None else {"step_size": self.step_size}
        return {"norm": self.norm, "eps": self.eps, "steps": self.steps, **size, "restarts": self.restarts}

"""Checks of hyperparameters that objectives share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from unbraid.errors import UsageError

if TYPE_CHECKING:
    from unbraid.objectives.base import Objective

__all__ = ["check_not_negative", "check_positive"]


def check_not_negative(objective: Objective, *fields: str) -> None:
    """Refuse hyperparameters below zero, infinite or no numbers."""
    for name in fields:
        value = getattr(objective, name)
        if not 0 <= value < math.inf:
            raise UsageError(f"{name} must be a number that is not negative, got {value}; 0 switches it off")


def check_positive(objective: Objective, *fields: str) -> None:
    """Refuse hyperparameters that are not above zero, or infinite."""
    for name in fields:
        value = getattr(objective, name)
        if not 0 < value < math.inf:
            raise UsageError(f"{name} must be a positive number, got {value}")

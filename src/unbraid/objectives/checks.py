"""Checks of hyperparameters that objectives and augmentations share, and of the room networks take."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from unbraid.errors import UsageError

if TYPE_CHECKING:
    from unbraid.objectives.base import Objective

__all__ = ["check_count", "check_not_negative", "check_positive", "room_for"]


def check_not_negative(objective: Any, *fields: str) -> None:
    """Refuse hyperparameters below zero, infinite or no numbers."""
    for name in fields:
        value = getattr(objective, name)
        if not isinstance(value, Real) or not 0 <= float(value) < math.inf:
            raise UsageError(f"{name} must be a number that is not negative, got {value!r}; 0 switches it off")


def check_positive(objective: Any, *fields: str) -> None:
    """Refuse hyperparameters that are not above zero, or infinite."""
    for name in fields:
        value = getattr(objective, name)
        if not isinstance(value, Real) or not 0 < float(value) < math.inf:
            raise UsageError(f"{name} must be a positive number, got {value!r}")


def check_count(objective: Any, *fields: str) -> None:
    """Refuse hyperparameters that count something and are no whole number from 1 on."""
    for name in fields:
        value = getattr(objective, name)
        if not isinstance(value, Integral):
            raise UsageError(f"{name} must be a whole number, got {value!r}")
        if value < 1:
            raise UsageError(f"{name} must be at least 1, got {value}")


@contextlib.contextmanager
def room_for(objective: Objective) -> Iterator[None]:
    """Name the options that make networks larger than the machine's memory."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        asked = re.search(r"allocate (\d+) bytes", str(error))
        if asked is None and not isinstance(error, MemoryError):
            raise
        sizes = {name: getattr(objective, name) for name in ("latents", "net") if hasattr(objective, name)}
        given = ", ".join(f"{name} = {value}" for name, value in sizes.items())
        much = f" to allocate {int(asked[1]) / 2**30:,.0f} GB" if asked else ""
        raise UsageError(
            f"not enough memory{much} for the networks of {objective.name} ({given}); try smaller ones"
        ) from error

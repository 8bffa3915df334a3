"""The numbers a training is given: checked alike wherever one begins, before anything is written."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid.errors import UsageError

__all__ = ["check_amounts", "check_batch"]

WHOLE = ("steps", "batch_size", "threads", "log_every", "processes", "seed")


def check_amounts(**given: Any) -> None:
    """Refuse numbers that are none, negative or broken, by the name of their argument; ``None`` is not looked at.

    >>> check_amounts(steps=10, minutes=None, seed=0, checkpoint_seconds=0.5)
    """
    for name, value in given.items():
        if value is None:
            continue
        if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
            raise UsageError(f"{name} must be a number, got {value!r}")
        if name == "checkpoint_seconds":
            # For ever is allowed: the last checkpoint is written at the end in any case.
            if not value >= 0:
                raise UsageError(f"checkpoint_seconds must be a number that is not negative, got {value}")
            continue
        if name != "seed" and not value > 0:
            least = "positive" if name in ("steps", "minutes") else "at least 1"
            raise UsageError(f"{name} must be {least}, got {value}")
        if not math.isfinite(value):
            raise UsageError(f"{name} must be a finite number, got {value}")
        if name in WHOLE and value != int(value):
            raise UsageError(f"{name} must be a whole number, got {value}")


def check_batch(batch_size: int, shape: Sequence[int]) -> None:
    """Refuse a batch that is none, or whose images alone, as networks take them, do not fit into the memory here."""
    check_amounts(batch_size=batch_size)
    needed, there = 4 * batch_size * math.prod(shape), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        raise UsageError(
            f"batch_size = {batch_size}: the images of one batch take {needed / 2**30:,.0f} GB, this machine has "
            f"{there / 2**30:,.0f}; try 64"
        )

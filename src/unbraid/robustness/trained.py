"""Which corruptions a run was shown in training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbraid.options import Named
from unbraid.robustness.corrupting import Plan

if TYPE_CHECKING:
    from unbraid.training import Run

__all__ = ["shown_in_training"]

ALSO = {"speckle": "speckle_noise", "blur": "gaussian_blur"}
"""Augmentations that are called otherwise than the corruption they show."""


def shown_in_training(run: Run, plan: Plan) -> frozenset[str]:
    """The corruptions of a plan that the augmentations of a run are: ``gaussian-noise`` shows ``gaussian_noise``."""
    given = getattr(getattr(run, "objective", None), "augment", ()) or ()
    names = [Named.read(entry).name for entry in given]
    words = {ALSO.get(name, name.replace("-", "_")) for name in names}
    return frozenset(name for name, corruption, _ in plan.entries if corruption.name in words)

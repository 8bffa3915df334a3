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
    """The corruptions of a plan that a run's images had: by its data, or by augmentation (``gaussian-noise``)."""
    given = getattr(getattr(run, "objective", None), "augment", ()) or ()
    names = [Named.read(entry).name for entry in given]
    words = {ALSO.get(name, name.replace("-", "_")) for name in names} | _of_data(run)
    return frozenset(name for name, corruption, _ in plan.entries if corruption.name in words)


def _of_data(run: Run) -> set[str]:
    """The corruptions of the images that a run was trained on: ``fog:severity=3 then jpeg_compression``."""
    recipe = (getattr(run, "info", {}).get("data") or {}).get("recipe") or {}
    told = str((recipe.get("options") or {}).get("corruption") or "")
    return {Named.read(part.strip()).name for part in told.split(" then ") if part.strip()}

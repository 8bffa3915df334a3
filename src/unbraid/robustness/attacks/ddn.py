"""Decoupled direction and norm (Rony et al., 2019)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.draws import Draws
from unbraid.robustness.attacks.goals import Goal
from unbraid.robustness.attacks.norms import Norm
from unbraid.robustness.attacks.registry import register
from unbraid.robustness.attacks.vectors import as_rows, direction, lengths

__all__ = ["ddn"]

LAST = 0.01
"""Length of the last step; the first is 1, and a cosine leads from one to the other."""


@register("ddn", norm="l2", needs="gradient", minimal=True)
def ddn(
    classify: Classifier,
    images: Tensor,
    goal: Goal,
    *,
    norm: Norm,
    draws: Draws,
    steps: int = 100,
    gamma: float = 0.05,
) -> Tensor:
    """The nearest image in L2 that is taken for something else, by steps on spheres that shrink and grow.

    After each step along the gradient the change is put on a sphere that is ``gamma`` smaller than the last one if the
    image was taken for something else there, and larger otherwise. The nearest such image comes back, or the image as
    it was where none was found (Rony et al., 2019).
    """
    if steps < 1:
        raise UsageError(f"steps must be at least 1, got {steps}")
    if not 0 < gamma < 1:
        raise UsageError(f"gamma must lie between 0 and 1, got {gamma}")
    best = images.clone()
    farthest = norm.farthest(images)
    nearest = torch.full_like(farthest, torch.inf)
    sphere = torch.ones_like(farthest)
    delta = torch.zeros_like(images)
    for step in range(steps + 1):
        moved = (images + delta).clamp(0, 1)
        gradient, scores = classify.gradient(moved, goal)
        met, size = goal.met(scores), lengths(delta)
        closer = met & (size < nearest)
        best[closer], nearest = moved[closer], torch.where(closer, size, nearest)
        if step == steps:
            break
        flat = (lengths(gradient) == 0).nonzero()[:, 0]
        if len(flat):  # nothing to follow: any way is as good
            gradient[flat] = draws[flat].normal(*images.shape[1:])
        length = LAST + (1 - LAST) * (1 + math.cos(math.pi * step / steps)) / 2
        delta = delta + length * direction(gradient)
        sphere = torch.where(met, (1 - gamma) * sphere, (1 + gamma) * sphere)
        sphere = torch.minimum(sphere, torch.minimum(nearest, farthest))
        delta = (images + as_rows(sphere, images) * direction(delta)).clamp(0, 1) - images
    return best

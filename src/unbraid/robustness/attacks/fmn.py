"""Fast minimum norm (Pintor et al., 2021)."""

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
from unbraid.robustness.attacks.vectors import direction

__all__ = ["fmn"]

LENGTHS = {"l0": (1.0, 0.01), "l2": (1.0, 0.01), "linf": (10.0, 0.1)}
"""Length of the first and the last step."""
LAST_GAMMA = 0.001


@register("fmn", norm=("l2", "linf", "l0"), needs="gradient", minimal=True)
def fmn(
    classify: Classifier,
    images: Tensor,
    goal: Goal,
    *,
    norm: Norm,
    draws: Draws,
    steps: int = 100,
    gamma: float = 0.05,
) -> Tensor:
    """Steps up the margin in a ball that shrinks to the boundary and grows beyond it (Pintor et al., 2021).

    Until something is found the radius is a little more than a linear margin would need from here, or in l0 one pixel
    more at each step; then it shrinks and grows by ``gamma``, which falls to a thousandth along a cosine, as do the
    steps.
    """
    if steps < 1:
        raise UsageError(f"steps must be at least 1, got {steps}")
    if not 0 < gamma < 1:
        raise UsageError(f"gamma must lie between 0 and 1, got {gamma}")
    first, last = LENGTHS[norm.name]
    best, farthest = images.clone(), norm.farthest(images)
    nearest, radius = torch.full_like(farthest, torch.inf), torch.zeros_like(farthest)
    moved = images
    for step in range(steps + 1):
        slope, outputs = classify.gradient(moved, goal, margin=True)
        met, size = goal.met(outputs), norm.size(moved - images)
        closer = met & (size < nearest)
        best[closer], nearest = moved[closer], torch.where(closer, size, nearest)
        if step == steps:
            break
        fall = (1 + math.cos(math.pi * step / steps)) / 2
        share = LAST_GAMMA + (gamma - LAST_GAMMA) * fall
        linear = size + goal.margin(outputs).abs() / norm.dual(slope).clamp_min(1e-12)
        radius = torch.minimum(_next(norm, radius, share, met, nearest, linear.to(radius)), farthest)
        flat = (slope.flatten(1) == 0).all(1).nonzero()[:, 0]
        if len(flat):  # nothing to follow: any way is as good
            slope[flat] = draws[flat].normal(*images.shape[1:])
        length = last + (first - last) * fall
        moved = norm.clip(images, moved + length * direction(slope) - images, radius)
    return best


def _next(norm: Norm, radius: Tensor, share: float, met: Tensor, nearest: Tensor, linear: Tensor) -> Tensor:
    """How far the next step may go."""
    if norm.name == "l0":
        less = torch.minimum(nearest, radius) * (1 - share)
        less = torch.minimum(less.floor(), torch.minimum(nearest, radius) - 1)
        more = torch.maximum((radius * (1 + share)).floor(), radius + 1)
        return torch.where(met, less.clamp_min(1), torch.minimum(more, (nearest - 1).clamp_min(1)))
    found = nearest.isfinite()
    shrunk = torch.minimum(radius, nearest) * (1 - share)
    grown = torch.where(found, torch.minimum(radius * (1 + share), nearest), linear * (1 + share))
    return torch.where(met, shrunk, grown)

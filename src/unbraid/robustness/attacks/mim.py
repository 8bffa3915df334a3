"""Momentum iterative method (Dong et al., 2018)."""

from __future__ import annotations

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.climbing import climb
from unbraid.robustness.attacks.goals import Goal
from unbraid.robustness.attacks.norms import Norm
from unbraid.robustness.attacks.registry import register
from unbraid.robustness.attacks.vectors import as_rows

__all__ = ["mim"]


@register("mim", norm=("linf", "l2"), needs="gradient")
def mim(
    classify: Classifier,
    images: Tensor,
    goal: Goal,
    *,
    norm: Norm,
    radius: Tensor,
    steps: int = 10,
    step: float = 0.2,
    decay: float = 1.0,
    sign_first: bool = False,
) -> Tensor:
    """Steps along gradients that are added up, so that they overcome small bumps (Dong et al., 2018).

    Each gradient is divided by its mean absolute value, added to ``decay`` times the sum so far, and the step goes
    along the steepest direction of the sum (its sign in linf). With ``sign_first`` the signs of the gradients are added
    up instead, as some libraries do. ``step`` is the length of one in radii.
    """
    if not decay >= 0:
        raise UsageError(f"decay must not be negative, got {decay}")
    momentum = torch.zeros_like(images)

    def way(gradient: Tensor, rows: Tensor) -> Tensor:
        mean = gradient.flatten(1).abs().mean(1)
        new = gradient.sign() if sign_first else gradient / as_rows(torch.where(mean > 0, mean, 1), gradient)
        momentum[rows] = decay * momentum[rows] + new
        return norm.steepest(momentum[rows])

    size = step * radius
    return climb(classify, images, goal, images, norm=norm, radius=radius, size=size, steps=steps, way=way)[0]

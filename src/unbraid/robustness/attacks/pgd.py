"""Projected gradient descent (Madry et al., 2018)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.climbing import climb
from unbraid.robustness.attacks.draws import Draws
from unbraid.robustness.attacks.goals import Goal
from unbraid.robustness.attacks.norms import Norm
from unbraid.robustness.attacks.registry import register
from unbraid.robustness.attacks.vectors import as_rows, direction

__all__ = ["pgd", "random_start_in"]


@register("pgd", norm=("linf", "l2"), needs="gradient")
def pgd(
    classify: Classifier,
    images: Tensor,
    goal: Goal,
    *,
    norm: Norm,
    radius: Tensor,
    draws: Draws,
    steps: int = 100,
    step_size: float | None = None,
    restarts: int = 1,
    random_start: bool = True,
) -> Tensor:
    """Steps of one size up the loss, each followed by a projection on the ball and on [0, 1] (Madry et al., 2018).

    A step is a tenth of the radius unless given. An image that was taken for something else once stays as it was then,
    and leaves the batch; with ``restarts`` the others begin anew at another random place. Images that still are named
    right at the end come back as they were.
    """
    if restarts < 1:
        raise UsageError(f"restarts must be at least 1, got {restarts}")
    if step_size is not None and not 0 < step_size < math.inf:
        raise UsageError(f"step_size must be a number above 0, or None for a tenth of the radius, got {step_size}")
    size = radius / 10 if step_size is None else torch.full_like(radius, step_size)
    best, left = images.clone(), torch.arange(len(images), device=images.device)
    for _ in range(restarts):
        if not len(left):
            break
        x = images[left]
        start = norm.clip(x, random_start_in(norm, x, radius[left], draws[left]), radius[left]) if random_start else x
        moved, found = climb(
            classify, x, goal[left], start, norm=norm, radius=radius[left], size=size[left], steps=steps
        )
        best[left[found]] = moved[found]
        left = left[~found]
    return best


def random_start_in(norm: Norm, images: Tensor, radius: Tensor, draws: Draws) -> Tensor:
    """A change in the ball, uniformly."""
    shape = images.shape[1:]
    if norm.name == "linf":
        return as_rows(radius, images) * (2 * draws.uniform(*shape) - 1)
    drawn, depth = draws.normal(*shape), draws.uniform(1)[:, 0]
    return direction(drawn) * as_rows(radius * depth ** (1 / images[0].numel()), images)

"""Steps up the loss inside a ball: what the iterative attacks have in common."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.goals import Goal
from unbraid.robustness.attacks.norms import Norm
from unbraid.robustness.attacks.vectors import as_rows

__all__ = ["climb"]


def climb(
    classify: Classifier,
    images: Tensor,
    goal: Goal,
    start: Tensor,
    *,
    norm: Norm,
    radius: Tensor,
    size: Tensor,
    steps: int,
    way: Callable[[Tensor, Tensor], Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Images after steps of a size (``[n]``) along the gradient, and whether they reached the goal on their way.

    Each step is followed by a projection on the ball and on [0, 1]. Images that reach the goal stay there and leave the
    batch. ``way(gradient, rows)`` says where to go instead of the norm's steepest direction.
    """
    if steps < 1:
        raise UsageError(f"steps must be at least 1, got {steps}")
    result, success = images.clone(), torch.zeros(len(images), dtype=torch.bool, device=images.device)
    rows, moved = torch.arange(len(images), device=images.device), start
    for _ in range(steps):
        gradient, scores = classify.gradient(moved, goal[rows])
        met = goal[rows].met(scores)
        result[rows[met]], success[rows[met]] = moved[met], True
        rows, moved, gradient = rows[~met], moved[~met], gradient[~met]
        if not len(rows):
            return result, success
        uphill = norm.steepest(gradient) if way is None else way(gradient, rows)
        step = as_rows(size[rows], images) * uphill
        moved = norm.clip(images[rows], moved + step - images[rows], radius[rows])
    met = classify.met(moved, goal[rows])
    result[rows[met]], success[rows[met]] = moved[met], True
    return result, success

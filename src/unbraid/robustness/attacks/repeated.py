"""Several tries of one attack at once: every image stands several times in the batch, and the best of it stays."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.robustness.attacks.draws import Draws
from unbraid.robustness.attacks.goals import Goal
from unbraid.robustness.attacks.norms import Norm

__all__ = ["nearest", "repeated"]


def repeated(
    attempt: Callable[[Tensor, Goal, Draws], tuple[Tensor, Tensor]],
    images: Tensor,
    goal: Goal,
    norm: Norm,
    draws: Draws,
    times: int,
) -> Tensor:
    """The nearest of ``times`` independent tries, each giving moved images and whether they reached the goal."""
    if times < 1:
        raise UsageError(f"restarts must be at least 1, got {times}")
    rows = torch.arange(len(images), device=images.device).repeat_interleave(times)
    moved, reached = attempt(images[rows], goal[rows], draws.branch(times))
    sizes = torch.where(reached, norm.size(moved - images[rows]), torch.inf).reshape(-1, times)
    pick = sizes.argmin(1) + times * torch.arange(len(images), device=images.device)
    return torch.where(reached[pick].reshape(-1, *[1] * (images.ndim - 1)), moved[pick], images)


def nearest(images: Tensor, tries: list[tuple[Tensor, Tensor]], norm: Norm) -> Tensor:
    """Of each image the nearest that reached the goal among several tries; the image itself where none did."""
    best, size = images.clone(), images.new_full((len(images),), torch.inf)
    for moved, reached in tries:
        found = torch.where(reached, norm.size(moved - images), torch.inf)
        nearer = found < size
        best[nearer], size = moved[nearer], torch.where(nearer, found, size)
    return best

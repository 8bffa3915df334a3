"""The smallest radius at which an attack succeeds, for every image at once."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.draws import Draws
from unbraid.robustness.attacks.found import count
from unbraid.robustness.attacks.goals import Goal
from unbraid.robustness.attacks.norms import Norm

__all__ = ["smallest_radius"]

GROWTH = 1.5
FINE = 1e-3
"""Halving ends when the radius is known so well, relatively."""
HALVINGS = 20


def smallest_radius(
    attempt: Callable[[Tensor, Goal, Tensor, Draws], Tensor],
    classify: Classifier,
    images: Tensor,
    goal: Goal,
    norm: Norm,
    draws: Draws,
) -> Tensor:
    """The nearest images that ``attempt(images, goal, radius, draws)`` finds, with a radius for each image.

    The radius grows by a half until the attack succeeds or reaches every image of [0, 1], and is then halved between
    the largest that failed and the distance of the nearest that was found, which may be much less than the radius.
    Images whose radius is known leave the batch. Where nothing was found the image itself comes back.
    """
    best, most = images.clone(), norm.farthest(images)
    low, high = torch.zeros_like(most), torch.full_like(most, torch.inf)
    radius = norm.start * most
    halvings = torch.zeros(len(images), dtype=torch.long, device=images.device)
    rows = torch.arange(len(images), device=images.device)
    while len(rows):
        moved = attempt(images[rows], goal[rows], radius[rows], draws[rows])
        success, sizes, seen = count(classify, images[rows], moved, goal[rows], norm, radius[rows])
        nearer = success & (sizes.to(high) <= high[rows])
        best[rows[nearer]], high[rows[nearer]] = seen[nearer], sizes[nearer].to(high)
        low[rows[~success]] = radius[rows[~success]]
        bracketed = high[rows].isfinite()
        halvings[rows[bracketed]] += 1
        fine = bracketed & ((high[rows] - low[rows] <= FINE * high[rows]) | (halvings[rows] > HALVINGS))
        hopeless = ~bracketed & (radius[rows] >= most[rows])
        rows = rows[~(fine | hopeless)]
        grown = torch.minimum(GROWTH * radius[rows], most[rows])
        radius[rows] = torch.where(high[rows].isfinite(), (low[rows] + high[rows]) / 2, grown)
    return best

"""Boundary attack (Brendel et al., 2018)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.draws import Draws
from unbraid.robustness.attacks.goals import Goal
from unbraid.robustness.attacks.line import closer
from unbraid.robustness.attacks.registry import register
from unbraid.robustness.attacks.starts import noise_images
from unbraid.robustness.attacks.vectors import as_rows, direction, lengths

__all__ = ["boundary"]

ADAPTED = 10
"""After so many steps their sizes are looked at."""
CONVERGED = 1e-6
"""Images whose steps towards the original are so short, relatively, leave the batch."""


@register("boundary", norm="l2", needs="decision", minimal=True)
def boundary(
    classify: Classifier,
    images: Tensor,
    goal: Goal,
    *,
    draws: Draws,
    steps: int = 1000,
    across: float = 0.01,
    towards: float = 0.01,
    adaptation: float = 1.5,
    starts: Any = None,
) -> Tensor:
    """A random walk along the boundary towards the image, which sees decisions alone (Brendel et al., 2018).

    Each step goes ``across``, along the sphere around the image, then ``towards`` it, in units of the distance; both
    are made ``adaptation`` times longer or shorter as they succeed. It begins at noise, or at ``starts``: images
    ``[m, c, h, w]`` of which each image takes the nearest that reaches the goal, which lowers distances much (with few
    steps the walk overstates robustness). Schott et al. (2019) take 5,000 steps.
    """
    if steps < 1:
        raise UsageError(f"steps must be at least 1, got {steps}")
    for option, value in (("across", across), ("towards", towards)):
        if not 0 < value < 1:
            raise UsageError(f"{option} must lie between 0 and 1, got {value}")
    if not adaptation > 1:
        raise UsageError(f"adaptation must be above 1, got {adaptation}")
    if starts is None:
        moved, reached = noise_images(classify, images, goal, draws)
    else:
        moved, reached = _nearest(classify, images, goal, torch.as_tensor(starts).to(images))
    rows = reached.nonzero()[:, 0]
    best = closer(classify, images, goal, moved, rows)
    sideways, forward = images.new_full((len(images),), across), images.new_full((len(images),), towards)
    tally = images.new_zeros(len(images), 3)  # sideways steps that succeeded, steps tried and succeeded forward
    for step in range(1, steps + 1):
        if not len(rows):
            break
        image, here = images[rows], best[rows]
        spot = _aside(image, here, sideways[rows], draws[rows])
        beside = classify.met(spot, goal[rows])
        tried = beside.nonzero()[:, 0]
        ahead = image[tried] + as_rows(1 - forward[rows[tried]], image) * (spot[tried] - image[tried])
        met = classify.met(ahead, goal[rows[tried]]) if len(tried) else beside[tried]
        nearer = met & (lengths(ahead - image[tried]) < lengths(here[tried] - image[tried]))
        best[rows[tried[nearer]]] = ahead[nearer]
        tally[rows[tried], 0] += 1
        tally[rows[tried], 1] += 1
        tally[rows[tried[nearer]], 2] += 1
        if step % ADAPTED == 0:
            _adapt(sideways, tally[:, 0] / ADAPTED, rows, adaptation)
            some = rows[tally[rows, 1] > 0]
            _adapt(forward, tally[:, 2] / tally[:, 1].clamp_min(1), some, adaptation)
            tally[rows] = 0
            rows = rows[forward[rows] > CONVERGED]
    return closer(classify, images, goal, best, reached.nonzero()[:, 0])


def _adapt(size: Tensor, rate: Tensor, rows: Tensor, by: float) -> None:
    """Longer steps where more than half succeed, shorter where less than a fifth do."""
    rate = rate[rows]
    factor = torch.where(rate > 0.5, by, torch.where(rate < 0.2, 1 / by, 1.0)).to(size)
    size[rows] = (size[rows] * factor).clamp_max(0.5)


def _aside(images: Tensor, moved: Tensor, share: Tensor, draws: Draws) -> Tensor:
    """A step in a random direction that is as far from the image as before, apart from clipping."""
    way = moved - images
    noise = draws.normal(*images.shape[1:])
    unit = direction(way)
    noise = direction(noise - as_rows((noise * unit).flatten(1).sum(1), images) * unit)
    size = lengths(way)
    aside = direction(way + as_rows(share * size, images) * noise)
    return (images + as_rows(size, images) * aside).clamp(0, 1)


def _nearest(classify: Classifier, images: Tensor, goal: Goal, starts: Tensor) -> tuple[Tensor, Tensor]:
    if starts.ndim != 4 or starts.shape[1:] != images.shape[1:] or not bool(((starts >= 0) & (starts <= 1)).all()):
        raise UsageError(
            f"starts must be images [m, {', '.join(map(str, images.shape[1:]))}] in [0, 1], got {list(starts.shape)}"
        )
    outputs = classify.scores(starts)
    away = torch.cdist(images.flatten(1), starts.flatten(1))
    for row in range(len(images)):
        one = torch.full((len(starts),), row, device=images.device)
        away[row, ~goal[one].met(outputs)] = torch.inf
    least, which = away.min(1)
    return starts[which], least.isfinite()

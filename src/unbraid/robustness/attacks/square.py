"""Square attack (Andriushchenko et al., 2020)."""

from __future__ import annotations

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.draws import Draws
from unbraid.robustness.attacks.goals import Goal
from unbraid.robustness.attacks.norms import Norm
from unbraid.robustness.attacks.registry import register
from unbraid.robustness.attacks.vectors import as_rows, direction, lengths

__all__ = ["share_of", "square"]

SHARES = {"linf": 0.8, "l2": 0.1}
"""Which share of the pixels the first squares have."""
HALVED = (0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
"""After which parts of the steps it is halved."""


@register("square", norm=("linf", "l2"), needs="scores")
def square(
    classify: Classifier,
    images: Tensor,
    goal: Goal,
    *,
    norm: Norm,
    radius: Tensor,
    draws: Draws,
    steps: int = 1000,
    share: float | None = None,
) -> Tensor:
    """Squares of one colour at random places, kept if they bring the goal nearer (Andriushchenko et al., 2020).

    It starts from stripes (linf) or tiles (l2) on the rim of the ball. ``share`` of the pixels are in a square at
    first, 0.8 in linf and 0.1 in l2 unless given, then less and less.
    """
    if steps < 1:
        raise UsageError(f"steps must be at least 1, got {steps}")
    first = SHARES[norm.name] if share is None else share
    if not 0 < first <= 1:
        raise UsageError(f"share must lie between 0 and 1, got {share}")
    propose = _square_linf if norm.name == "linf" else _square_l2
    result, rows = images.clone(), torch.arange(len(images), device=images.device)
    delta = (_stripes if norm.name == "linf" else _tiles)(images, radius, draws)
    margin = torch.full_like(radius, -torch.inf)
    trial = delta
    for step in range(steps + 1):
        if step:
            side = _side(first * share_of(step, steps), images)
            trial = propose(delta, images[rows], radius[rows], draws[rows], side)
        moved = norm.clip(images[rows], trial, radius[rows])
        outputs = classify.scores(moved)
        met, found = goal[rows].met(outputs), goal[rows].margin(outputs).to(margin)
        result[rows[met]] = moved[met]
        better = found > margin
        delta = torch.where(as_rows(better, images), trial, delta)[~met]
        margin, rows = torch.where(better, found, margin)[~met], rows[~met]
        if not len(rows):
            break
    return result


def share_of(step: int, steps: int) -> float:
    """The size of squares after so many steps, in units of the first: halved nine times, ever more seldom."""
    return 0.5 ** sum(step > part * steps for part in HALVED)


def _side(share: float, images: Tensor) -> int:
    height, width = images.shape[2:]
    return min(max(round((share * height * width) ** 0.5), 1), max(min(height, width) - 1, 1))


def _stripes(images: Tensor, radius: Tensor, draws: Draws) -> Tensor:
    channels, height, width = images.shape[1:]
    return as_rows(radius, images) * draws.signs(channels, 1, width).expand(-1, -1, height, -1)


def _square_linf(delta: Tensor, images: Tensor, radius: Tensor, draws: Draws, side: int) -> Tensor:
    inside, _ = _window(images, draws, side)
    colour = as_rows(radius, images) * draws.signs(images.shape[1], 1, 1)
    return torch.where(inside[:, None], colour, delta)


def _tiles(images: Tensor, radius: Tensor, draws: Draws) -> Tensor:
    """Bumps side by side, each with a sign of its own, on the sphere."""
    channels, height, width = images.shape[1:]
    side = max(min(height, width) // 5, 1)
    down, across = -(-height // side), -(-width // side)
    signs = draws.signs(channels, down, across).repeat_interleave(side, 2).repeat_interleave(side, 3)
    bumps = _bump(side, images).repeat(down, across)
    return as_rows(radius, images) * direction((signs * bumps)[:, :, :height, :width])


def _square_l2(delta: Tensor, images: Tensor, radius: Tensor, draws: Draws, side: int) -> Tensor:
    """Take the change of one square away and give it, with what is left to the sphere, to another as a bump."""
    side = max(side, min(3, *images.shape[2:]))
    to, places = _window(images, draws, side)
    of, _ = _window(images, draws, side)
    both = (to | of)[:, None]
    channels = images.shape[1]
    moved = (images + delta).clamp(0, 1) - images
    free = (radius**2 - lengths(moved) ** 2).clamp_min(0) / channels  # per channel
    spent = (moved * both).flatten(2).norm(dim=2) ** 2
    old = torch.where(to[:, None], moved, 0)
    size = old.flatten(2).norm(dim=2)[..., None, None]
    old = old / torch.where(size > 0, size, 1)
    rows, columns = (place.clamp(0, side - 1) for place in places)
    bump = _bump(side, images)[rows[:, :, None], columns[:, None, :]] * to
    new = draws.signs(channels, 1, 1) * bump[:, None] + old
    size = new.flatten(2).norm(dim=2)[..., None, None]
    new = new / torch.where(size > 0, size, 1) * (free[:, None] + spent).sqrt()[..., None, None]
    trial = torch.where(to[:, None], new, torch.where(of[:, None], 0, moved))
    return as_rows(radius, images) * direction(trial)


def _window(images: Tensor, draws: Draws, side: int) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Where a square at a random place is, bool ``[n, h, w]``, and where rows and columns stand in it."""
    places = []
    for length in images.shape[2:]:
        first = draws.below(max(length - side, 0) + 1, 1).to(images.device)
        places.append(torch.arange(length, device=images.device)[None] - first)
    rows, columns = ((place >= 0) & (place < side) for place in places)
    return rows[:, :, None] & columns[:, None, :], (places[0], places[1])


def _bump(side: int, images: Tensor) -> Tensor:
    """Rings that fade outwards, the upper half up and the lower half down, of length 1."""
    steps = torch.arange(side, device=images.device, dtype=images.dtype)
    ring = torch.minimum(steps, side - 1 - steps)
    depth = torch.minimum(ring[:, None], ring[None, :]).long()
    weights = torch.cumsum(1 / torch.arange(1, side + 1, device=images.device, dtype=images.dtype).flip(0) ** 2, 0)
    bump = weights[depth]
    if side > 1:
        bump = torch.where((steps < side // 2)[:, None], bump, -bump)
    return bump / bump.norm()

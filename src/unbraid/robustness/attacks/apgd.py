"""Projected gradients with steps that halve themselves (Croce and Hein, 2020)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from unbraid.errors import UsageError, unknown_name
from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.draws import Draws
from unbraid.robustness.attacks.goals import Goal
from unbraid.robustness.attacks.norms import Norm
from unbraid.robustness.attacks.pgd import random_start_in
from unbraid.robustness.attacks.registry import register
from unbraid.robustness.attacks.vectors import as_rows

__all__ = ["apgd", "checkpoints"]

MOMENTUM = 0.75
RISING = 0.75
"""If the loss rose in a smaller share of steps than this, they are halved."""
LOSSES = ("ce", "margin")


@register("apgd", norm=("linf", "l2"), needs="gradient")
def apgd(
    classify: Classifier,
    images: Tensor,
    goal: Goal,
    *,
    norm: Norm,
    radius: Tensor,
    draws: Draws,
    steps: int = 100,
    loss: str = "ce",
    restarts: int = 1,
) -> Tensor:
    """Projected gradients with momentum, whose steps halve when they stop helping: no step size to choose.

    ``loss`` is ``ce``, cross-entropy, or ``margin``, the best other score minus the true one: unlike the ratio of
    differences of Croce and Hein (2020) it is there for two classes and for three, and since every step has the same
    length its scale does not matter.
    """
    if loss not in LOSSES:
        raise unknown_name("loss", loss, LOSSES)
    for option, value in (("steps", steps), ("restarts", restarts)):
        if value < 1:
            raise UsageError(f"{option} must be at least 1, got {value}")
    best, left = images.clone(), torch.arange(len(images), device=images.device)
    for _ in range(restarts):
        if not len(left):
            break
        x, reach = images[left], radius[left]
        start = norm.clip(x, random_start_in(norm, x, reach, draws[left]), reach)
        moved, found = _climb(classify, x, goal[left], start, norm, reach, steps, loss == "margin")
        best[left[found]] = moved[found]
        left = left[~found]
    return best


def checkpoints(steps: int) -> list[int]:
    """After which steps it is asked whether they helped: at 22 % of them, then at ever shorter intervals."""
    places = [0.0, 0.22]
    while places[-1] < 1:
        places.append(places[-1] + max(places[-1] - places[-2] - 0.03, 0.06))
    return sorted({math.ceil(place * steps - 1e-9) for place in places[1:] if place <= 1})


def _climb(
    classify: Classifier,
    images: Tensor,
    goal: Goal,
    start: Tensor,
    norm: Norm,
    radius: Tensor,
    steps: int,
    margin: bool,
) -> tuple[Tensor, Tensor]:
    """Images after the steps, and whether they reached the goal on their way."""
    result, success = images.clone(), torch.zeros(len(images), dtype=torch.bool, device=images.device)
    rows, asked, since = torch.arange(len(images), device=images.device), checkpoints(steps), 0
    x, old, size, slope, top_x, top_slope = start, start, 2 * radius, images, start, images
    value = top = marked = torch.full_like(radius, -torch.inf)  # marked: the best value at the last checkpoint
    halved, rose = torch.zeros_like(success), torch.zeros_like(radius)
    for step in range(steps + 1):
        if step:
            here, reach = images[rows], radius[rows]
            ahead = norm.clip(here, x + as_rows(size, x) * norm.steepest(slope) - here, reach)
            share = MOMENTUM if step > 1 else 1.0
            x, old = norm.clip(here, x + share * (ahead - x) + (1 - share) * (x - old) - here, reach), x
        slope, outputs = classify.gradient(x, goal[rows], margin)
        met = goal[rows].met(outputs)
        result[rows[met]], success[rows[met]] = x[met], True
        if met.any():
            rows = rows[~met]
            state = (x, old, size, slope, outputs, value, top, top_x, top_slope, marked, halved, rose)
            x, old, size, slope, outputs, value, top, top_x, top_slope, marked, halved, rose = (s[~met] for s in state)
        if not len(rows):
            break
        new = _value(goal[rows], outputs, margin)
        rose, value = rose + (new > value) if step else rose, new
        better = new > top
        top, top_x = torch.where(better, new, top), torch.where(as_rows(better, x), x, top_x)
        top_slope = torch.where(as_rows(better, x), slope, top_slope)
        if step in asked:
            stuck = (rose < RISING * (step - since)) | (~halved & (top <= marked))
            size = torch.where(stuck, size / 2, size)
            x, slope = (torch.where(as_rows(stuck, x), a, b) for a, b in ((top_x, x), (top_slope, slope)))
            value = torch.where(stuck, top, value)
            marked, halved, rose, since = top, stuck, torch.zeros_like(rose), step
    return result, success


def _value(goal: Goal, outputs: Tensor, margin: bool) -> Tensor:
    return goal.margin(outputs) if margin else goal.loss(outputs)

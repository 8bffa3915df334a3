"""Where attacks that see decisions alone begin: noise that is taken for something else."""

from __future__ import annotations

import torch
from torch import Tensor

from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.draws import Draws
from unbraid.robustness.attacks.goals import Goal

__all__ = ["noise_images", "salted", "sprinkled"]

LEVELS, AGAIN = 12, 60
"""Amounts of salt and pepper that are tried, and so many more draws where none was enough."""
LESS = 0.8
"""Each try to do with less salt and pepper takes this share of what was enough."""


def noise_images(
    classify: Classifier, images: Tensor, goal: Goal, draws: Draws, tries: int = 50
) -> tuple[Tensor, Tensor]:
    """An image of noise per image that reaches the goal, and whether there is one.

    Uniform noise and noise of black and white in turn, as bright as chance has it.
    """
    result, rows = images.clone(), torch.arange(len(images), device=images.device)
    for number in range(tries):
        if not len(rows):
            break
        noise = draws[rows].uniform(*images.shape[1:])
        if number % 2:
            noise = (noise < draws[rows].uniform(1, 1, 1)).to(images)
        met = classify.met(noise, goal[rows])
        result[rows[met]] = noise[met]
        rows = rows[~met]
    reached = torch.ones(len(images), dtype=torch.bool, device=images.device)
    reached[rows] = False
    return result, reached


def salted(classify: Classifier, images: Tensor, goal: Goal, draws: Draws, levels: int = 100) -> tuple[Tensor, Tensor]:
    """Images with as few pixels set to black or white as reach the goal, and whether they do.

    Which pixels come first, and what becomes of them, is drawn once per image; more and more of them are set until the
    goal is reached, then the last lot is halved.
    """
    height, width = images.shape[2:]
    order = draws.uniform(height * width).argsort(1).argsort(1).reshape(-1, 1, height, width)
    values = (draws.signs(1, height, width) + 1) / 2

    def at(count: Tensor, rows: Tensor) -> Tensor:
        return torch.where(order[rows] < count.reshape(-1, 1, 1, 1), values[rows], images[rows])

    total = height * width
    low = torch.zeros(len(images), dtype=torch.long, device=images.device)
    high = torch.full_like(low, -1)
    rows, last = torch.arange(len(images), device=images.device), 0
    for level in range(1, levels + 1):
        # Few pixels are told apart better than many.
        pixels = max(-(-total * level**2 // levels**2), last + 1)
        if not len(rows) or last >= total:
            break
        last = min(pixels, total)
        count = torch.full((len(rows),), last, device=images.device)
        met = classify.met(at(count, rows), goal[rows])
        high[rows[met]], low[rows[~met]] = last, last
        rows = rows[~met]
    reached = high > 0
    rows = (reached & (high - low > 1)).nonzero()[:, 0]
    while len(rows):
        middle = (low[rows] + high[rows]) // 2
        met = classify.met(at(middle, rows), goal[rows])
        high[rows[met]], low[rows[~met]] = middle[met], middle[~met]
        rows = rows[high[rows] - low[rows] > 1]
    moved, rows = images.clone(), reached.nonzero()[:, 0]
    moved[rows] = at(high[rows], rows)
    return moved, reached


def sprinkled(classify: Classifier, images: Tensor, goal: Goal, draws: Draws, tries: int) -> tuple[Tensor, Tensor]:
    """Images with salt and pepper that reach the goal, drawn anew ``tries`` times with less, and whether they do.

    Each pixel is black or white with a probability that grows until the goal is reached, and falls with each success.
    """

    def at(noise: Tensor, share: Tensor, part: Tensor) -> Tensor:
        black = (noise * 2.0**24).long() % 2 == 0  # the last bit knows nothing of the size
        return torch.where(noise < share.reshape(-1, 1, 1, 1), (~black).to(images), part)

    share, moved = images.new_ones(len(images)), images.clone()
    rows, noise = torch.arange(len(images), device=images.device), draws.uniform(1, *images.shape[2:])
    for level in range(1, LEVELS + AGAIN + 1):
        if not len(rows):
            break
        if level > LEVELS:  # those that even this noise does not change are given other noise
            noise = images.new_zeros(len(images), 1, *images.shape[2:])
            noise[rows] = draws[rows].uniform(1, *images.shape[2:])
        amount = ((level - 1) % LEVELS + 1) ** 2 / LEVELS**2
        trial = at(noise[rows], images.new_full((len(rows),), amount), images[rows])
        met = classify.met(trial, goal[rows])
        moved[rows[met]], share[rows[met]] = trial[met], amount
        rows = rows[~met]
    reached = torch.ones(len(images), dtype=torch.bool, device=images.device)
    reached[rows] = False
    rows = reached.nonzero()[:, 0]
    for _ in range(tries if len(rows) else 0):
        trial = at(draws[rows].uniform(1, *images.shape[2:]), LESS * share[rows], images[rows])
        met = classify.met(trial, goal[rows])
        moved[rows[met]], share[rows[met]] = trial[met], LESS * share[rows[met]]
    return moved, reached

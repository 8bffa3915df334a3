"""How far along a straight line an image has to go."""

from __future__ import annotations

import torch
from torch import Tensor

from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.goals import Goal
from unbraid.robustness.attacks.vectors import as_rows

__all__ = ["along", "beyond", "closer"]

HALVINGS = 12
FARTHER = 0.01
"""The first step beyond a place that was not far enough, as a part of the way to it; the next ones double."""


def along(
    classify: Classifier, images: Tensor, goal: Goal, ways: Tensor, reach: Tensor, levels: int = 50
) -> tuple[Tensor, Tensor]:
    """The first of ``clip(images + s * ways)`` with s up to ``reach`` that reaches the goal, and whether there is one.

    ``levels`` lengths are tried in turn, closer to each other where they are short, and the place between the last
    that failed and the first that succeeded is halved. Images leave the batch when they have succeeded.
    """
    lengths = [reach * (level / levels) ** 2 for level in range(1, levels + 1)]
    return _first(classify, images, goal, ways, torch.zeros_like(reach), lengths, HALVINGS)


def beyond(
    classify: Classifier, images: Tensor, goal: Goal, moved: Tensor, reach: float, halvings: int = 9
) -> tuple[Tensor, Tensor]:
    """Images that moved too little, farther on the same lines until they reach the goal, and whether they do.

    Steps double, up to ``reach`` times as far: most lack little, and a model may be dear to ask.
    """
    one, lengths, step = images.new_ones(len(images)), [], FARTHER
    while 1 + step < 2 * reach:
        lengths.append(one * min(1 + step, reach))
        step *= 2
    return _first(classify, images, goal, moved - images, one, lengths, halvings)


def _first(
    classify: Classifier, images: Tensor, goal: Goal, ways: Tensor, low: Tensor, lengths: list[Tensor], halvings: int
) -> tuple[Tensor, Tensor]:
    """The first of growing lengths that is enough, halved towards the last that was not, and whether one is."""
    low, high = low.clone(), torch.full_like(low, torch.inf)
    rows = (ways.flatten(1) != 0).any(1).nonzero()[:, 0]
    for each in lengths:
        if not len(rows):
            break
        length = each[rows]
        met = classify.met(_at(images, ways, length, rows), goal[rows])
        high[rows[met]], low[rows[~met]] = length[met], length[~met]
        rows = rows[~met]
    success = high.isfinite()
    rows = success.nonzero()[:, 0]
    for _ in range(halvings if len(rows) else 0):
        middle = (low[rows] + high[rows]) / 2
        met = classify.met(_at(images, ways, middle, rows), goal[rows])
        high[rows[met]], low[rows[~met]] = middle[met], middle[~met]
    moved = images.clone()
    moved[rows] = _at(images, ways, high[rows], rows)
    return moved, success


def closer(
    classify: Classifier, images: Tensor, goal: Goal, moved: Tensor, rows: Tensor, halvings: int = HALVINGS
) -> Tensor:
    """Images that reach the goal, brought back along the line to where they were as far as halving finds.

    ``rows`` are those that do reach it; the others stay as they are.
    """
    near, far = images.new_zeros(len(rows)), images.new_ones(len(rows))
    ways = moved - images
    for _ in range(halvings if len(rows) else 0):
        middle = (near + far) / 2
        met = classify.met(_at(images, ways, middle, rows), goal[rows])
        far, near = torch.where(met, middle, far), torch.where(met, near, middle)
    result = moved.clone()
    shorter = far < 1  # images that stay where they are keep their very numbers
    result[rows[shorter]] = _at(images, ways, far[shorter], rows[shorter])
    return result


def _at(images: Tensor, ways: Tensor, length: Tensor, rows: Tensor) -> Tensor:
    return (images[rows] + as_rows(length, images) * ways[rows]).clamp(0, 1)

"""Pointwise attack (Schott et al., 2019)."""

from __future__ import annotations

import torch
from torch import Tensor

from unbraid.robustness.attacks.classifier import Classifier
from unbraid.robustness.attacks.draws import Draws
from unbraid.robustness.attacks.goals import Goal
from unbraid.robustness.attacks.norms import Norm
from unbraid.robustness.attacks.registry import register
from unbraid.robustness.attacks.repeated import repeated
from unbraid.robustness.attacks.starts import salted

__all__ = ["pointwise", "reset"]

LOTS = (16, 4, 1)
"""So many pixels are set back at a time: if a lot can go at once, nobody has to ask for each of its pixels."""
HALVINGS = 10
PASSES = 10
"""In l2, at most so many times through all pixels."""


@register("pointwise", norm=("l0", "l2"), needs="decision", minimal=True)
def pointwise(
    classify: Classifier,
    images: Tensor,
    goal: Goal,
    *,
    norm: Norm,
    draws: Draws,
    restarts: int = 10,
) -> Tensor:
    """Salt and pepper, of which everything is set back that is not needed (Schott et al., 2019).

    Pixels are set back in random order as long as the image stays adversarial, until none can be: first in lots, then
    one by one. In l2 the others then go as far back as halving finds. All ``restarts`` run at once, and the best stays.
    """

    def attempt(x: Tensor, aim: Goal, noise: Draws) -> tuple[Tensor, Tensor]:
        moved, reached = salted(classify, x, aim, noise)
        rows = reached.nonzero()[:, 0]
        if len(rows):
            moved[rows] = reset(classify, x[rows], aim[rows], moved[rows], noise[rows])
            if norm.name == "l2":
                moved[rows] = _halved(classify, x[rows], aim[rows], moved[rows], noise[rows])
        return moved, reached

    return repeated(attempt, images, goal, norm, draws, restarts)


def reset(classify: Classifier, images: Tensor, goal: Goal, moved: Tensor, draws: Draws) -> Tensor:
    """Adversarial images without the changed pixels that they can do without, one by one, in random order."""
    moved = moved.clone()
    for lot in LOTS[:-1]:
        _pass(classify, images, goal, moved, draws, torch.arange(len(images), device=images.device), lot)
    rows = torch.arange(len(images), device=images.device)
    while len(rows):
        rows = rows[_pass(classify, images, goal, moved, draws, rows, LOTS[-1])]
    return moved


def _pass(
    classify: Classifier, images: Tensor, goal: Goal, moved: Tensor, draws: Draws, rows: Tensor, lot: int
) -> Tensor:
    """Set back what can be, in place, once through the changed pixels of some images; which of them changed."""
    order, count = _order(images[rows], moved[rows], draws[rows])
    changed = torch.zeros(len(rows), dtype=torch.bool, device=images.device)
    for start in range(0, int(count.max()), lot):
        some = (count > start).nonzero()[:, 0]
        place = (order[some] >= start) & (order[some] < start + lot)
        trial = torch.where(place[:, None], images[rows[some]], moved[rows[some]])
        met = classify.met(trial, goal[rows[some]])
        moved[rows[some[met]]] = trial[met]
        changed[some[met]] = True
    return changed


def _halved(classify: Classifier, images: Tensor, goal: Goal, moved: Tensor, draws: Draws) -> Tensor:
    """Each changed pixel as near to what it was as halving finds, in random order, until that helps no more."""
    rows = torch.arange(len(images), device=images.device)
    for _ in range(PASSES):
        if not len(rows):
            break
        before = (moved[rows] - images[rows]).flatten(1).norm(dim=1)
        order, count = _order(images[rows], moved[rows], draws[rows])
        for turn in range(int(count.max()) if len(count) else 0):
            some = (count > turn).nonzero()[:, 0]
            which = rows[some]
            place = (order[some] == turn)[:, None]
            near, far = images.new_zeros(len(some)), images.new_ones(len(some))
            x, old = images[which], moved[which]
            for _ in range(HALVINGS):
                middle = (near + far) / 2
                met = classify.met(_between(x, old, middle, place), goal[which])
                far, near = torch.where(met, middle, far), torch.where(met, near, middle)
            shorter = far < 1
            moved[which[shorter]] = _between(x, old, far, place)[shorter]
        after = (moved[rows] - images[rows]).flatten(1).norm(dim=1)
        rows = rows[after < 0.999 * before]
    return moved


def _between(images: Tensor, moved: Tensor, share: Tensor, place: Tensor) -> Tensor:
    """One pixel of each image a share of its way."""
    way = images + share.reshape(-1, 1, 1, 1) * (moved - images)
    return torch.where(place, way.clamp(0, 1), moved)


def _order(images: Tensor, moved: Tensor, draws: Draws) -> tuple[Tensor, Tensor]:
    """The turn of each changed pixel, at random, behind them the others: ``[n, h, w]``; how many there are: ``[n]``."""
    changed = (moved != images).any(1).flatten(1)
    keys = draws.uniform(changed.shape[1]) + (~changed).to(images)
    return keys.argsort(1).argsort(1).reshape(len(images), *images.shape[2:]), changed.sum(1)

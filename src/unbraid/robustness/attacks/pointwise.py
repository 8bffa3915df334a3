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
from unbraid.robustness.attacks.starts import sprinkled
from unbraid.robustness.attacks.vectors import lengths

__all__ = ["pointwise", "reset"]

LOT, LEAST, MOST = 8, 2, 32
"""So many pixels are set back at a time at first, more as long as that works, fewer when it did not: if all can go at
once, nobody has to ask for each of them."""
TRIES = 20
"""So many times a start with less salt and pepper is looked for: it saves more questions than it asks."""
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
        moved, reached = sprinkled(classify, x, aim, noise, TRIES)
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
    _in_lots(_Trials(classify, images, goal, moved), draws)
    _one_by_one(_Trials(classify, images, goal, moved), draws)
    return moved


class _Trials:
    """Images some of whose pixels are set back on trial, in place; those that are done leave the batch."""

    def __init__(self, classify: Classifier, images: Tensor, goal: Goal, moved: Tensor) -> None:
        self.classify, self.goal, self.shape, self.moved = classify, goal, images.shape[1:], moved
        self.rows = torch.arange(len(images), device=images.device)
        self.clean, self.work = images.flatten(2), moved.flatten(2).clone()  # [n, c, pixels]

    def order(self, draws: Draws) -> tuple[Tensor, Tensor]:
        """The changed pixels in random order, behind them the others: ``[n, pixels]``; how many there are: ``[n]``."""
        changed = (self.work != self.clean).any(1)
        keys = draws.uniform(changed.shape[1]) + (~changed).to(self.work)
        return keys.argsort(1), changed.sum(1)

    def test(self, places: Tensor) -> Tensor:
        """Set pixels ``[n, k]`` back where the image stays adversarial: bool ``[n]``."""
        spots = places[:, None].expand(-1, self.work.shape[1], -1)
        old, new = self.work.gather(2, spots), self.clean.gather(2, spots)
        self.work.scatter_(2, spots, new)
        met = self.classify.met(self.work.reshape(-1, *self.shape), self.goal)
        self.work.scatter_(2, spots, torch.where(met[:, None, None], new, old))
        return met

    def keep(self, busy: Tensor) -> Tensor:
        """Let those that are not busy go: which rows of any state stay."""
        gone, stay = (~busy).nonzero()[:, 0], busy.nonzero()[:, 0]
        self.moved[self.rows[gone]] = self.work[gone].reshape(-1, *self.shape)
        self.rows, self.clean, self.work = self.rows[stay], self.clean[stay], self.work[stay]
        self.goal = self.goal[stay]
        return stay


def _in_lots(trials: _Trials, draws: Draws) -> None:
    """Once through the changed pixels. A lot that cannot go is halved until the pixel is known that it cannot do
    without, and what was before it has gone."""
    order, left = trials.order(draws)
    stuck = torch.zeros_like(left)  # so many of the last pixels are known not to go together
    lot = torch.full_like(left, LOT)
    offsets = torch.arange(1, MOST + 1, device=left.device)
    while True:
        needed = stuck == 1
        left, stuck = left - needed.long(), torch.where(needed, 0, stuck)
        if not (left > 0).all():
            stay = trials.keep(left > 0)
            order, left, stuck, lot = order[stay], left[stay], stuck[stay], lot[stay]
        if not len(left):
            return
        fresh = stuck == 0
        size = torch.where(fresh, torch.minimum(left, lot), stuck // 2)
        # Rows that try fewer pixels than the others name their last one several times.
        places = order.gather(1, left[:, None] - torch.minimum(offsets[: int(size.max())], size[:, None]))
        met = trials.test(places)
        left = torch.where(met, left - size, left)
        stuck = torch.where(met, (stuck - size).clamp_min(0), size)
        lot = torch.where(fresh, torch.where(met, 2 * lot, lot // 2).clamp(LEAST, MOST), lot)


def _one_by_one(trials: _Trials, draws: Draws) -> None:
    """Round and round the pixels that are left, until none of them can go."""
    order, left = trials.order(draws)
    place, failed = torch.zeros_like(left), torch.zeros_like(left)
    while True:
        busy = failed < left
        if not busy.all():
            stay = trials.keep(busy)
            order, left, place, failed = order[stay], left[stay], place[stay], failed[stay]
        if not len(left):
            return
        met = trials.test(order.gather(1, place[:, None]))
        # The last pixel takes the place of one that is gone.
        last = order.gather(1, left[:, None] - 1)
        order.scatter_(1, place[:, None], torch.where(met[:, None], last, order.gather(1, place[:, None])))
        left, failed = left - met.long(), torch.where(met, 0, failed + 1)
        place = torch.where(met, place, place + 1)
        place = torch.where(place >= left, 0, place)


def _halved(classify: Classifier, images: Tensor, goal: Goal, moved: Tensor, draws: Draws) -> Tensor:
    """Each changed pixel as near to what it was as halving finds, in random order, until that helps no more."""
    moved, rows = moved.clone(), torch.arange(len(images), device=images.device)
    for _ in range(PASSES):
        if not len(rows):
            break
        before = lengths(moved[rows] - images[rows])
        trials = _Trials(classify, images[rows], goal[rows], moved[rows])
        order, count = trials.order(draws[rows])
        for turn in range(int(count.max())):
            some = (count > turn).nonzero()[:, 0]
            _halve(trials, some, order[some, turn])
        moved[rows] = trials.work.reshape(-1, *images.shape[1:])
        rows = rows[lengths(moved[rows] - images[rows]) < 0.999 * before]
    return moved


def _halve(trials: _Trials, rows: Tensor, places: Tensor) -> None:
    """One pixel of each of some images as near to what it was as halving finds, in place."""
    work, spots = trials.work[rows], places[:, None, None].expand(-1, trials.work.shape[1], 1)
    clean, old, goal = trials.clean[rows].gather(2, spots), work.gather(2, spots), trials.goal[rows]
    near, far = work.new_zeros(len(rows)), work.new_ones(len(rows))

    def at(share: Tensor) -> Tensor:
        return work.scatter(2, spots, (clean + share[:, None, None] * (old - clean)).clamp(0, 1))

    for _ in range(HALVINGS):
        middle = (near + far) / 2
        met = trials.classify.met(at(middle).reshape(-1, *trials.shape), goal)
        far, near = torch.where(met, middle, far), torch.where(met, near, middle)
    shorter = far < 1
    trials.work[rows[shorter]] = at(far)[shorter]

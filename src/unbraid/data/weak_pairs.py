"""Pairs that agree or differ in one known factor: weak supervision as Shu et al. (2020) define it."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from unbraid.data.dataset import Dataset
from unbraid.data.purpose import Purpose
from unbraid.data.stream import Batch, counter_rng, register_stream
from unbraid.errors import UsageError, unknown_name

__all__ = ["WEAK_RULES", "WeakPairStream", "WeakRule"]

WeakRule = Literal["share", "change", "rank"]
WEAK_RULES: tuple[WeakRule, ...] = get_args(WeakRule)


@register_stream("weak-pairs")
class WeakPairStream:
    """Pairs of images of which one factor i, drawn anew for every pair, is known to be alike, changed or compared.

    ``share``: all factors but i are drawn anew for the second image; ``change``: only i is (it may keep its value);
    ``rank``: all are, and values of i differ. ``labels`` of a batch say i, for rank 2 i + 1 where the first image has
    the larger value and 2 i where the second has.
    """

    def __init__(self, dataset: Dataset, batch_size: int, seed: int, *, rule: str = "share") -> None:
        if batch_size < 1:
            raise UsageError(f"batch_size must be at least 1, got {batch_size}")
        if rule not in WEAK_RULES:
            raise unknown_name("rule of weak pairs:", rule, WEAK_RULES)
        self.space = dataset.need_space(f"the stream of weak pairs ({rule})")
        dataset.need_uniform()
        if rule == "rank" and min(self.space.sizes) < 2:
            raise UsageError("rank compares values of every factor, and one of these has a single value; leave it out")
        self.dataset, self.batch_size, self.seed, self.rule = dataset, batch_size, seed, rule

    def __call__(self, step: int) -> Batch:
        rng = counter_rng(self.seed, step, Purpose.PAIRS)
        rows = np.arange(self.batch_size)
        first, second = self.space.sample(self.batch_size, rng), self.space.sample(self.batch_size, rng)
        chosen = rng.integers(len(self.space.names), size=self.batch_size)
        labels = chosen.astype(np.int64)
        if self.rule == "share":
            second[rows, chosen] = first[rows, chosen]
        elif self.rule == "change":
            redrawn = second[rows, chosen]
            second = first.copy()
            second[rows, chosen] = redrawn
        else:
            # Latents never tie, and so must values not: any other value of the factor, each as likely.
            sizes = np.array(self.space.sizes)[chosen]
            second[rows, chosen] = (first[rows, chosen] + rng.integers(1, sizes)) % sizes
            labels = 2 * labels + (first[rows, chosen] > second[rows, chosen])
        index, other = self.space.index(first), self.space.index(second)
        images, partners = self.dataset.pairs_at(index, other, rng)
        changed = first != second
        return Batch(images, index, first, labels, partners, second, changed)

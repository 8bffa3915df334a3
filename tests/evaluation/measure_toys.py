"""Measures for tests, which count how often they are asked."""

from collections import Counter
from dataclasses import dataclass
from functools import partial

import numpy as np

from unbraid.evaluation import GroupMeasure, Measure, register
from unbraid.metrics import Score

CALLS: Counter[str] = Counter()


@register("brightness")
@dataclass(frozen=True)
class Brightness(Measure):
    """Mean pixel under several thresholds; stops at one of them if told to."""

    needs = "images that are not too many"
    images: int = 10
    levels: tuple[int, ...] = (0, 100)

    def applies(self, run, data):
        return len(data) < 1000

    def rows(self, run, data, seed):
        pixels = data.images(np.arange(self.images))
        for level in self.levels:
            yield {"level": level}, partial(self.above, pixels, level, run)

    def above(self, pixels, level, run):
        CALLS["brightness"] += 1
        return {"above": float((pixels > level).mean()), "width": Score("width", float(run.encode(pixels).shape[1]))}


@register("spread")
@dataclass(frozen=True)
class Spread(GroupMeasure):
    """How far a run's first code lies from the group's mean."""

    def share(self, run, data, seed):
        CALLS["spread"] += 1
        return {"code": run.encode(data.images(np.arange(5)))[:, 0]}

    def compare(self, shares, seed):
        codes = np.stack([share["code"] for share in shares])
        return [{"spread": float(np.abs(code - codes.mean(axis=0)).mean())} for code in codes]

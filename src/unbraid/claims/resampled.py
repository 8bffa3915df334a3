"""Rules by resampling: rank correlations over runs, ratios of medians over images, spreads, mean ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unbraid.claims.measured import Images, Measured, Points, Ranked, Spread
from unbraid.claims.outcome import Outcome, decided
from unbraid.claims.rules import Rule
from unbraid.errors import UsageError

__all__ = ["C", "M", "R", "S"]

DRAWS = 2000
SEED = 0
"""Of the bootstrap: fixed, so that a verdict is a function of its table."""
SWAPS = 100_000


def _ends(draws: np.ndarray) -> tuple[float, float]:
    """Percentile interval; a draw without a value counts against either end."""
    low, high = (np.sort(np.where(np.isnan(draws), worst, draws)) for worst in (-np.inf, np.inf))
    last = len(draws) - 1
    return float(low[int(np.floor(0.025 * last))]), float(high[int(np.ceil(0.975 * last))])


def _rank_correlations(x: np.ndarray, y: np.ndarray, strata: Sequence[np.ndarray]) -> np.ndarray:
    """Of every row of points ``[rows, runs]``, whose ranks are taken within strata (lists of columns)."""
    from scipy.stats import rankdata

    ranks = [np.zeros(x.shape) for _ in range(2)]
    for inside in strata:
        for own, values in zip(ranks, (x, y), strict=True):
            own[:, inside] = (rankdata(values[:, inside], axis=1) - 0.5) / len(inside) - 0.5
    spread = ranks[0].std(axis=1) * ranks[1].std(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > 0, (ranks[0] * ranks[1]).mean(axis=1) / spread, np.nan)


@dataclass(frozen=True)
class C(Rule):
    """A rank correlation over runs, with a bootstrap over runs (within each stratum)."""

    letter = "C"
    about = "correlation at least rho and interval above 0; not reproduced if the interval ends below rho"
    rho: float

    def judge(self, measured: Measured) -> Outcome:
        if not isinstance(measured, Points):
            raise UsageError(f"this rule is about two numbers of every run, got {type(measured).__name__}")
        x, y = np.asarray(measured.x, float), np.asarray(measured.y, float)
        names = np.asarray(measured.strata or [""] * len(x))
        strata = [np.flatnonzero(names == one) for one in np.unique(names)]
        if len(x) < 4 or not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise UsageError(f"a rank correlation needs at least four runs with finite numbers, got {len(x)}")
        point = float(_rank_correlations(x[None], y[None], strata)[0])
        rng = np.random.default_rng(SEED)
        chosen = np.empty((DRAWS, len(x)), int)
        for inside in strata:
            chosen[:, inside] = inside[rng.integers(0, len(inside), (DRAWS, len(inside)))]
        draws = _rank_correlations(x[chosen], y[chosen], strata)
        low, high = _ends(draws)
        word = decided(point >= self.rho and low > 0, high < self.rho)
        sentence = f"rank correlation {point:+.3f} [{low:+.3f} to {high:+.3f}], {len(x)} runs; {self.rho:g} is asked"
        chance = (1 + int((~(draws > 0)).sum())) / (DRAWS + 1)
        return Outcome(word, sentence, {"n": len(x), "point": point, "low": low, "high": high, "p_value": chance})


def _ratio(first: np.ndarray, second: np.ndarray) -> float:
    """Of medians; an infinite one is larger than any number, and two infinite ones have no ratio."""
    a, b = (_median(one) for one in (first, second))
    if (np.isinf(a) and np.isinf(b)) or (a == 0 and b == 0):
        return float("nan")
    return np.inf if b == 0 else float(a / b)


def _median(values: np.ndarray) -> float:
    """The usual one, without taking the mean of a number and infinity for nothing."""
    ordered = np.sort(values)
    middle = ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1]
    return float(middle.mean())


@dataclass(frozen=True)
class M(Rule):
    """A ratio of medians over images, with a bootstrap that draws seeds, then images."""

    letter = "M"
    about = "ratio of medians at least q and interval above 1; not reproduced if the interval ends below q"
    ratio: float

    def judge(self, measured: Measured) -> Outcome:
        if not isinstance(measured, Images):
            raise UsageError(f"this rule is about distances of images, got {type(measured).__name__}")
        seeds = sorted(measured.first)
        both = [[np.asarray(side[seed], float) for seed in seeds] for side in (measured.first, measured.second)]
        if any(not len(one) or np.isnan(one).any() for side in both for one in side):
            raise UsageError("distances of images must be numbers, at least one of every seed")
        point = _ratio(*(np.concatenate(side) for side in both))
        rng = np.random.default_rng(SEED)
        draws = np.array([_ratio(*_drawn(both, rng)) for _ in range(DRAWS)])
        low, high = _ends(draws)
        sure = not np.isnan(point)
        word = decided(sure and point >= self.ratio and low > 1, sure and high < self.ratio)
        middles = [_median(np.concatenate(side)) for side in both]
        count = sum(len(one) for one in both[0])
        sentence = (
            f"median {middles[0]:.4g} against {middles[1]:.4g}, ratio {point:.3g} [{low:.3g} to {high:.3g}], {count} "
            f"images of {len(seeds)} seeds; {self.ratio:g} is asked"
        )
        chance = (1 + int((~(draws > 1)).sum())) / (DRAWS + 1)
        return Outcome(word, sentence, {"n": count, "point": point, "low": low, "high": high, "p_value": chance})


def _drawn(both: Sequence[Sequence[np.ndarray]], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    chosen: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for seed in rng.integers(0, len(both[0]), len(both[0])):
        first, second = both[0][seed], both[1][seed]
        images = rng.integers(0, len(first), len(first))
        # The same images of both models, where both were shown the same ones.
        other = images if len(second) == len(first) else rng.integers(0, len(second), len(second))
        chosen[0].append(first[images])
        chosen[1].append(second[other])
    return np.concatenate(chosen[0]), np.concatenate(chosen[1])


@dataclass(frozen=True)
class S(Rule):
    """A smaller spread over seeds: ratio of standard deviations, with a bootstrap over seeds."""

    letter = "S"
    about = "ratio of standard deviations at most q and interval below 1; not reproduced if it lies above q"
    ratio: float

    def judge(self, measured: Measured) -> Outcome:
        if not isinstance(measured, Spread):
            raise UsageError(f"this rule is about two spreads, got {type(measured).__name__}")
        seeds = sorted(set(measured.each) & set(measured.others))
        if len(seeds) < 3:
            raise UsageError(f"a spread needs at least three seeds that have both, got {len(seeds)}")
        each = np.array([measured.each[seed] for seed in seeds])
        others = [np.asarray(measured.others[seed], float) for seed in seeds]

        def ratio(chosen: np.ndarray) -> float:
            around = float(np.concatenate([others[place] for place in chosen]).std(ddof=1))
            return float(each[chosen].std(ddof=1)) / around if around > 0 else float("nan")

        point = ratio(np.arange(len(seeds)))
        rng = np.random.default_rng(SEED)
        draws = np.array([ratio(rng.integers(0, len(seeds), len(seeds))) for _ in range(DRAWS)])
        low, high = _ends(draws)
        word = decided(point <= self.ratio and high < 1, low > self.ratio)
        sentence = (
            f"ratio of standard deviations {point:.3f} [{low:.3f} to {high:.3f}], {len(seeds)} seeds; at most "
            f"{self.ratio:g} is asked"
        )
        chance = (1 + int((~(draws < 1)).sum())) / (DRAWS + 1)
        return Outcome(word, sentence, {"n": len(seeds), "point": point, "low": low, "high": high, "p_value": chance})


@dataclass(frozen=True)
class R(Rule):
    """The best mean rank, by a test that swaps two methods in cells."""

    letter = "R"
    about = "lowest mean rank, apart from the next beyond chance; not reproduced if another is lower beyond chance"
    level: float

    def judge(self, measured: Measured) -> Outcome:
        from scipy.stats import rankdata

        if not isinstance(measured, Ranked):
            raise UsageError(f"this rule is about scores of methods by cell, got {type(measured).__name__}")
        ranks = rankdata(-np.asarray(measured.scores, float), axis=1)
        means = dict(zip(measured.methods, ranks.mean(axis=0), strict=True))
        mine = measured.methods.index(measured.mine)
        chances = {
            name: _swapped(ranks[:, place] - ranks[:, mine])
            for place, name in enumerate(measured.methods)
            if place != mine
        }
        rival = min(chances, key=lambda name: means[name])
        first = means[measured.mine] < means[rival]
        surely = chances[rival] < self.level
        told = ", ".join(f"{name} {rank:.3f}" for name, rank in sorted(means.items(), key=lambda item: item[1]))
        sentence = f"mean ranks over {len(ranks)} cells: {told}; {measured.mine} and {rival}: p = {chances[rival]:.4f}"
        chance = chances[rival] / 2 if first else 1 - chances[rival] / 2
        found = {"n": len(ranks), "point": means[rival] - means[measured.mine], "p_value": chance}
        return Outcome(decided(first and surely, not first and surely), sentence, found)


def _swapped(differences: np.ndarray) -> float:
    """Two-sided: how often random signs give a sum as far from 0."""
    rng = np.random.default_rng(SEED)
    observed, count = abs(differences.sum()) - 1e-9, 0
    for start in range(0, SWAPS, 10_000):
        signs = rng.integers(0, 2, (min(10_000, SWAPS - start), len(differences))) * 2 - 1
        count += int((np.abs(signs @ differences) >= observed).sum())
    return (count + 1) / (SWAPS + 1)

"""What Schott et al. (2019) conclude from distances, held against distances of the same images for several classifiers.

Medians are compared over images that are drawn again, the same ones for both sides: one is farther if it is so in
97.5 % of the draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import polars as pl

from unbraid.data import Purpose, counter_rng
from unbraid.errors import UsageError
from unbraid.evaluation import Verdict, verdict, wilson
from unbraid.robustness import climbs_by_way
from unbraid.study.judged import Finding

__all__ = ["judge_attacks", "surely_farther"]

DRAWS, SURE = 2000, 0.975
NEAR = 1.01
"""An attack is as good as all of them if its median is at most so many times theirs."""
MOST = 0.5
"""What of the gain of Linf training a threshold must give to be most of it."""
TIMES = 3.0
"""So many times as near as salt and pepper pointwise comes."""
ABS_MODELS = ("ABS", "Binary ABS")


def surely_farther(first: np.ndarray, second: np.ndarray, *, times: float = 1.0, seed: int = 0) -> bool | None:
    """Whether the median distance of the first is more than ``times`` that of the second, for sure, or neither.

    >>> surely_farther(np.arange(100.0) + 40, np.arange(100.0))
    True
    """
    drawn = _medians([first, second], seed)
    return _sure(drawn[0] > times * drawn[1], drawn[0] < times * drawn[1])


def judge_attacks(
    distances: pl.DataFrame, roles: Mapping[str, str], climbs: pl.DataFrame | None = None, data: str = "", seed: int = 0
) -> list[Finding]:
    """Verdicts on distances (columns model, norm, attack, image, distance) of models whose roles are known.

    ``climbs`` from noise have the columns model and success.
    """
    asked = _Distances(distances, roles, climbs, seed)
    found = []
    for name, (text, rule, check) in _CHECKS.items():
        try:
            told = check(asked)
        except UsageError as error:
            told = Verdict("cannot say", {}, str(error))
        found.append(Finding(name, data, text, rule, told))
    return found


class _Distances:
    """Distances of the same images by role, norm and attack."""

    def __init__(
        self, distances: pl.DataFrame, roles: Mapping[str, str], climbs: pl.DataFrame | None, seed: int
    ) -> None:
        self.climbs, self.seed = climbs, seed
        several = {role for role in roles.values() if role and list(roles.values()).count(role) > 1}
        self.several = several
        self.by_role = {model if role in several else role: model for model, role in roles.items() if role}
        self.table = distances.sort("image")

    def model(self, role: str) -> str:
        """What the model of a role is called."""
        if role in self.several:
            raise UsageError(f"it needs one model that is {role}, and there are several")
        if role not in self.by_role:
            raise UsageError(f"it needs {role}")
        return self.by_role[role]

    def attacks(self, role: str, norm: str) -> dict[str, np.ndarray]:
        rows = self.table.filter(pl.col("model") == self.model(role), pl.col("norm") == norm)
        if not len(rows):
            raise UsageError(f"it needs distances in {norm}")
        return {
            str(name): part["distance"].to_numpy() for (name,), part in rows.group_by("attack", maintain_order=True)
        }

    def nearest(self, role: str, norm: str) -> np.ndarray:
        nearest: np.ndarray = np.min(list(self.attacks(role, norm).values()), axis=0)
        return nearest

    def farthest(self, norm: str, firsts: Sequence[str], others: Sequence[str]) -> Verdict:
        """Whether each of the first is farther than each of the others that there are."""
        there = [role for role in others if role in self.by_role or role in self.several]
        if not there:
            raise UsageError(f"it needs one of {', '.join(others)} to compare with")
        known = {role: self.nearest(role, norm) for role in (*firsts, *there)}
        answers = [surely_farther(known[a], known[b], seed=self.seed) for a, b in product(firsts, there)]
        medians = {role: float(np.median(values)) for role, values in known.items()}
        words = ", ".join(f"{role} {value:.3g}" for role, value in medians.items())
        return verdict(_all(answers), f"medians in {norm}: {words}", **medians)


def _all(answers: Sequence[bool | None]) -> bool | None:
    """Yes if all are, no if any is not, else undecided."""
    return False if False in answers else None if None in answers else True


def _sure(yes: np.ndarray, no: np.ndarray) -> bool | None:
    return True if yes.mean() >= SURE else False if no.mean() >= SURE else None


def _medians(columns: Sequence[np.ndarray], seed: int) -> np.ndarray:
    """Medians ``[column, draw]`` of images that are drawn again, the same for all columns."""
    count = len(columns[0])
    drawn = counter_rng(seed, 0, Purpose.RESAMPLED).integers(count, size=(DRAWS, count))
    with np.errstate(invalid="ignore"):  # the middle between two infinite numbers
        found = np.stack([np.median(np.asarray(one)[drawn], axis=1) for one in columns])
    return np.where(np.isnan(found), np.inf, found)


def _l2(asked: _Distances) -> Verdict:
    return asked.farthest("l2", ["ABS"], ["CNN", "Binary CNN", "nearest neighbour", "Linf-trained", "Binary ABS"])


def _linf(asked: _Distances) -> Verdict:
    return asked.farthest("linf", ["Binary ABS"], ["CNN", "Binary CNN", "nearest neighbour", "Linf-trained", "ABS"])


def _l0(asked: _Distances) -> Verdict:
    return asked.farthest("l0", ABS_MODELS, ["CNN", "Binary CNN", "nearest neighbour", "Linf-trained"])


def _worse(asked: _Distances) -> Verdict:
    return asked.farthest("l0", ["CNN"], ["Linf-trained"])


def _threshold(asked: _Distances) -> Verdict:
    roles = ("CNN", "Binary CNN", "Linf-trained")
    plain, binary, trained = _medians([asked.nearest(role, "linf") for role in roles], asked.seed)
    with np.errstate(invalid="ignore"):  # of infinite medians nothing is known
        gain, whole = binary - plain, trained - plain
        more, less = (gain >= MOST * whole) & (whole > 0), gain < MOST * whole
    medians = {role: float(np.median(asked.nearest(role, "linf"))) for role in roles}
    words = ", ".join(f"{role} {value:.3g}" for role, value in medians.items())
    return verdict(_sure(more, less), f"medians in linf: {words}", **medians)


def _no_best(asked: _Distances) -> Verdict:
    """Whether in no norm one attack is as near as all together, for every model."""
    answers, words = [], []
    for norm in ("l0", "l2", "linf"):
        found = {role: asked.attacks(role, norm) for role in asked.by_role}
        shared = set.intersection(*(set(one) for one in found.values()))
        if len(found) < 2 or not shared:
            raise UsageError(f"it needs attacks that several models had in {norm}")
        best = {role: _medians([np.min(list(one.values()), axis=0)], asked.seed)[0] for role, one in found.items()}
        good = {
            name: np.all([_medians([found[role][name]], asked.seed)[0] <= NEAR * best[role] for role in found], axis=0)
            for name in sorted(shared)
        }
        everywhere = np.any(list(good.values()), axis=0)
        answers.append(_sure(~everywhere, everywhere))
        nearest = {
            role: min(one, key=lambda name, one=one: float(np.median(one[name])))  # type: ignore[misc]
            for role, one in found.items()
        }
        words.append(f"{norm}: " + ", ".join(f"{role} {name}" for role, name in nearest.items()))
    return verdict(_all(answers), "the nearest alone, by the median; " + "; ".join(words))


def _noise(asked: _Distances) -> Verdict:
    climbs = asked.climbs
    if climbs is None or not len(climbs):
        raise UsageError("it needs climbs from noise")
    shares = {}
    for role in ("CNN", "ABS"):
        (_, part), *_ = climbs_by_way(climbs.filter(pl.col("model") == asked.model(role)))
        rows = part["success"]
        shares[role] = (int(rows.sum()), len(rows))
    (net, all_net), (drawn, all_drawn) = shares["CNN"], shares["ABS"]
    (low, high), (least, most) = wilson(net, all_net), wilson(drawn, all_drawn)
    often = True if low > 0.5 else False if high < 0.5 else None
    seldom = True if most < 0.5 else False if least > 0.5 else None
    words = f"sure of noise: CNN {net} of {all_net}, ABS {drawn} of {all_drawn}"
    return verdict(_all([often, seldom]), words, cnn=net / all_net, abs=drawn / all_drawn)


def _pointwise(asked: _Distances) -> Verdict:
    answers, words, numbers = [], [], {}
    for role in asked.by_role:
        found = asked.attacks(role, "l0")
        if not {"pointwise", "salt-and-pepper"} <= set(found):
            raise UsageError("it needs the attacks pointwise and salt-and-pepper in l0")
        noise, point = found["salt-and-pepper"], found["pointwise"]
        answers.append(surely_farther(noise, point, times=TIMES, seed=asked.seed))
        numbers[role] = float(np.median(noise) / np.median(point))
        words.append(f"{role} {np.median(noise):.3g} / {np.median(point):.3g}")
    return verdict(_all(answers), "medians in l0: " + ", ".join(words), **numbers)


_CHECKS: dict[str, tuple[str, str, Callable[[_Distances], Verdict]]] = {
    "a": ("ABS withstands the longest changes in L2", "its median is above that of every other model", _l2),
    "b": ("Binary ABS withstands the largest ones in Linf", "its median is above that of every other model", _linf),
    "c": ("Both ABS models withstand changes of most pixels", "both medians in L0 are above all others", _l0),
    "d": ("Linf training is worse than none in L0", "its median in L0 is below that of the CNN", _worse),
    "e": (
        "A threshold alone gives a CNN most of what Linf training gives in Linf",
        "its median rises by at least half as much",
        _threshold,
    ),
    "f": (
        "No single attack is the best everywhere",
        "in no norm one attack comes, for every model, within 1 % of the median of all attacks",
        _no_best,
    ),
    "g": (
        "Networks can be made sure of noise, ABS cannot",
        "climbs from noise succeed for the CNN in more than half of the cases, and for ABS in less",
        _noise,
    ),
    "h": (
        "Pointwise is much stronger than salt and pepper in L0",
        "for every model its median is less than a third",
        _pointwise,
    ),
}

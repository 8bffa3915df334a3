"""Do the published conclusions about noise training show in a study? Rules fixed beforehand, verdicts over seeds."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import polars as pl

from unbraid.corruptions import MNIST_C
from unbraid.errors import UsageError
from unbraid.evaluation import Verdict
from unbraid.study.analysis import Above, Below, Condition, without_seeds
from unbraid.study.judged import Finding
from unbraid.study.noise.tables import Trained
from unbraid.study.noise.ways import CLEAN, LINF, VANILLA

__all__ = ["Finding", "judge_noise"]

GNT, MULT, ANT, ANT3 = "GNT 0.5", "GNT mult", "ANT1x1", "ANT3x3"
FAR_LESS = 0.8
"""Learned noise of less than this part of the norm counts as far less."""
MIDDLE = (0.38, 0.6)
"""Where the best standard deviation is to lie, both included."""
Judged = tuple[str, list[Condition]]


def judge_noise(table: pl.DataFrame) -> list[Finding]:
    """What Rusak et al. (2020) conclude, for each data set of a study's table.

    A conclusion holds, or does not, if the 95 % interval over seeds of every number it rests on lies on one side of the
    rule's limit; else it is undecided. Where runs are missing that a rule needs, the verdict cannot say.
    """
    return [
        Finding(name, data, text, rule, _judge(trained, check))
        for data, trained in Trained.of(table).items()
        for name, text, rule, check in _FINDINGS
    ]


def _judge(trained: Trained, check: Callable[[Trained], Judged]) -> Verdict:
    try:
        return without_seeds(trained, trained.seeds, trained.without, check)
    except UsageError as error:
        return Verdict("cannot say", {}, str(error))


def _helps(trained: Trained) -> Judged:
    gain = {
        "noise": trained.noise(GNT) - trained.noise(CLEAN),
        "other corruptions": trained.without_noise(GNT) - trained.without_noise(CLEAN),
    }
    text = f"accuracy of {GNT} above that of {CLEAN}, in points: " + _listed(gain)
    return text, [Above(name, value, 0) for name, value in gain.items()]


def _middle(trained: Trained) -> Judged:
    found = (re.fullmatch(r"GNT ([0-9.]+)", way) for way in trained.ways)
    means = {float(one[1]): trained.mean(one[0]) for one in found if one}
    low, high = MIDDLE
    small, good, large = (
        {sigma: value for sigma, value in means.items() if inside(sigma)}
        for inside in (lambda s: s < low, lambda s: low <= s <= high, lambda s: s > high)
    )
    if not (small and good and large):
        raise UsageError(f"it needs standard deviations below, between and above {low:g} and {high:g}")
    best = max(good, key=good.__getitem__)
    text = "mean accuracy by standard deviation: " + ", ".join(f"{s:g} {means[s]:.1f}" for s in sorted(means))
    ahead = {f"{best:g} above smaller": small, f"{best:g} above larger": large}
    return text, [Above(name.split(" ", 1)[1], good[best] - max(others.values()), 0) for name, others in ahead.items()]


def _one_beats_several(trained: Trained) -> Judged:
    return _ahead(trained, GNT, MULT, Trained.without_noise, "without noise corruptions")


def _far_less(trained: Trained) -> Judged:
    conditions: list[Condition] = []
    told = []
    for way in (VANILLA, GNT):
        learned, normal = (trained.distance(way, kind) for kind in ("learned", "gaussian"))
        conditions.append(Below(f"ratio for {way}", learned / normal, FAR_LESS, (0, np.inf)))
        told.append(f"{way} {learned:.2f} against {normal:.2f}")
    return "median L2 of learned and of normal noise: " + ", ".join(told), conditions


def _raises(trained: Trained) -> Judged:
    found = {way: trained.distance(way, "learned") for way in (CLEAN, GNT, ANT)}
    text = "median L2 of noise learned against the finished model: " + _listed(found, "{:.2f}")
    return text, [Above(f"above {way}", found[ANT] - found[way], 0) for way in (CLEAN, GNT)]


def _replay(trained: Trained) -> Judged:
    return _ahead(trained, ANT, f"{ANT} w/o EP", Trained.mean, "over all corruptions")


def _snow(trained: Trained) -> Judged:
    return _ahead(trained, ANT3, ANT, lambda part, way: part.accuracy(way, ["snow"]), "under snow")


def _stylised(trained: Trained) -> Judged:
    return _ahead(trained, f"{ANT} + stylised", ANT, Trained.mean, "over all corruptions")


def _lowers(trained: Trained) -> Judged:
    text, (ahead,) = _ahead(trained, LINF, CLEAN, Trained.mean, "over all corruptions")
    return text, [Below(ahead.name, ahead.value, 0)]


def _fog(trained: Trained) -> Judged:
    change = {name: trained.accuracy(LINF, [name]) - trained.accuracy(CLEAN, [name]) for name in (*MNIST_C, "contrast")}
    usual = float(np.mean([change[name] for name in MNIST_C]))
    named = {name: change[name] for name in ("fog", "contrast")}
    three = sorted(change, key=change.__getitem__)[:3]
    text = (
        f"change by {LINF} against {CLEAN}, in points: {_listed(named)}, mean {usual:+.1f}; most is lost under "
        + ", ".join(f"{name} {change[name]:+.1f}" for name in three)
    )
    return text, [Below(f"{name} against the mean", value - usual, 0) for name, value in named.items()]


def _adversaries(trained: Trained) -> Judged:
    gains = {
        f"{way} in {norm}": trained.adversarial(way, norm) - trained.adversarial(CLEAN, norm)
        for way in (GNT, ANT)
        for norm in ("l2", "linf")
    }
    text = f"accuracy against adversaries above that of {CLEAN}, in points: " + _listed(gains)
    return text, [Above(name, value, 0) for name, value in gains.items()]


def _ahead(trained: Trained, first: str, second: str, of: Callable[[Trained, str], float], where: str) -> Judged:
    one, other = of(trained, first), of(trained, second)
    text = f"accuracy {where}: {first} {one:.1f} %, {second} {other:.1f} %"
    return text, [Above("points ahead", one - other, 0)]


def _listed(numbers: dict[str, float], form: str = "{:+.1f}") -> str:
    return ", ".join(f"{name} {form.format(value)}" for name, value in numbers.items())


_FINDINGS: tuple[tuple[str, str, str, Callable[[Trained], Judged]], ...] = (
    (
        "a",
        "Gaussian noise training helps under noise and under other corruptions",
        f"{GNT} above {CLEAN} in both",
        _helps,
    ),
    (
        "b",
        "The standard deviation matters; the best is near 0.5",
        f"the best of {MIDDLE[0]:g} to {MIDDLE[1]:g} is above every smaller and every larger one, mean of MNIST-C",
        _middle,
    ),
    (
        "c",
        "One good standard deviation beats a set of them beyond noise",
        f"{GNT} above {MULT}, mean of MNIST-C without noise",
        _one_beats_several,
    ),
    (
        "d",
        "Learned noise needs far less L2 than normal noise to change decisions",
        f"median distances: less than {FAR_LESS:g} of that of normal noise, for {VANILLA} and {GNT}",
        _far_less,
    ),
    (
        "e",
        "ANT raises what even a new generator needs",
        f"median distance of learned noise: {ANT} above {CLEAN} and {GNT}",
        _raises,
    ),
    ("f", "Without experience replay some is lost", f"{ANT} above {ANT} w/o EP, mean of MNIST-C", _replay),
    ("g", "Noise correlated over 3x3 pixels helps under snow", f"{ANT3} above {ANT} under snow", _snow),
    ("h", "Stylised images add to it", f"{ANT} + stylised above {ANT}, mean of MNIST-C", _stylised),
    ("i1", "Linf training lowers accuracy under corruptions", f"{LINF} below {CLEAN}, mean of MNIST-C", _lowers),
    (
        "i2",
        "and more than on average under fog and contrast",
        "the change under fog and under contrast is below the mean change",
        _fog,
    ),
    (
        "j",
        "Noise training raises accuracy against adversaries slightly",
        f"{GNT} and {ANT} above {CLEAN}, in L2 and Linf",
        _adversaries,
    ),
)

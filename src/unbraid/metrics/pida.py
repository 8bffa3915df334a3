"""Consistency and restrictiveness of pairs (Shu, Chen, Kumar, Ermon & Poole, 2020)."""

from functools import partial
from typing import Any

import numpy as np

from unbraid.errors import UsageError
from unbraid.metrics._encode import FactorData, Space
from unbraid.metrics._interventions import Plan, Rows, Sampling, carry_out
from unbraid.metrics._kinds import correlations
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Score, check_seed, generator
from unbraid.metrics.mcc import match_codes

__all__ = ["pida"]


def _plan(space: Space, sampling: Sampling, *, pairs: int | None = None, seed: int = 0) -> Plan:
    count = sampling.test if pairs is None else pairs
    if isinstance(count, bool) or not isinstance(count, int) or count < 2:
        raise UsageError(f"pairs must be a whole number from 2 on, got {count!r}")
    if len(space.sizes) < 2:
        raise UsageError("pida asks whether the other codes stay: the data need at least two factors")
    rng = generator(seed)
    first, second = space.sample(count, rng), space.sample(count, rng)
    partners = []
    for factor in range(len(space.sizes)):
        shared, changed = second.copy(), first.copy()
        shared[:, factor] = first[:, factor]
        changed[:, factor] = second[:, factor]
        partners += [shared, changed]
    index = space.index(np.concatenate([first, second, *partners]))
    return Plan(index, partial(_score, first=first, second=second, seed=seed))


@register(
    "pida",
    needs="interventions",
    range=UNIT,
    title="Consistency and restrictiveness",
    short="Pairs",
    about="whether matched codes stay when their factor stays, and only then",
    parts={"consistency": "Consistency", "restrictiveness": "Restrictiveness", "rank_accuracy": "Rank accuracy"},
    usual=False,
    plan=_plan,
)
def pida(encode: Any, data: FactorData, *, pairs: int = 10_000, seed: int = 0) -> Score:
    """Mean of consistency and restrictiveness over factors, each 1 less a ratio of squared distances.

    Codes are first matched to factors one to one, by rank correlation. Consistency of a factor: how little its code
    moves between images that share its value, all else redrawn, relative to any two images. Restrictiveness: how little
    the codes of the other factors move when only this factor is redrawn. Distances are of codes divided by their
    standard deviation. ``parts["rank_accuracy"]``: how often the code, turned the way it goes with its factor, tells
    which image of two has the larger value; values that tie are left out.

    A factor without a code counts 0. Flaws: categories and angles are matched and ranked by their numbering. The
    release returns the ratio itself, negative, and takes code k for that of factor k.
    """
    if isinstance(pairs, bool) or not isinstance(pairs, int) or pairs < 2:
        raise UsageError(f"pairs must be a whole number from 2 on, got {pairs!r}")
    return carry_out(_plan, encode, data, Sampling(pairs, pairs), seed=seed)


def _score(codes: Rows, *, first: np.ndarray, second: np.ndarray, seed: int) -> Score:
    count, factors = first.shape
    blocks = [codes[begin * count : (begin + 1) * count] for begin in range(2 + 2 * factors)]
    drawn = np.concatenate(blocks[:2])
    truth = np.concatenate([first, second])
    table = correlations(drawn, truth, ["ordinal"] * factors, rank=True)  # [d, K]
    matched, _ = match_codes(table)
    moved = _squares(blocks[0], blocks[1])  # mean squared distance per code, of any two images
    consistency, restrictiveness, accuracy = np.zeros((3, factors))
    for factor, code in enumerate(matched):
        shared, changed = blocks[2 + 2 * factor : 4 + 2 * factor]
        kept = [other for place, other in enumerate(matched) if place != factor and other >= 0]
        if code >= 0:
            consistency[factor] = _stays(_squares(blocks[0], shared)[[code]], moved[[code]])
            steps = blocks[0][:, code] - blocks[1][:, code], first[:, factor] - second[:, factor]
            accuracy[factor] = _rank_accuracy(*steps)
            restrictiveness[factor] = _stays(_squares(blocks[0], changed)[kept], moved[kept])
    value = float((consistency.mean() + restrictiveness.mean()) / 2)
    return Score(
        "pida",
        value,
        1.0,
        {
            "consistency": float(consistency.mean()),
            "restrictiveness": float(restrictiveness.mean()),
            "rank_accuracy": float(accuracy.mean()),
            "consistency_per_factor": consistency,
            "restrictiveness_per_factor": restrictiveness,
            "rank_accuracy_per_factor": accuracy,
            "code_of_factor": matched,
        },
        {"pairs": count, "seed": check_seed(seed)},
    )


def _squares(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return ((one - other) ** 2).mean(axis=0)


def _stays(kept: np.ndarray, moved: np.ndarray) -> float:
    """1 less the mean ratio of squared distances over codes that move at all; 0 if none does, or if they move more."""
    alive = moved > 0
    return max(0.0, 1 - float((kept[alive] / moved[alive]).mean())) if alive.any() else 0.0


def _rank_accuracy(of_code: np.ndarray, of_factor: np.ndarray) -> float:
    """How often a code steps the way its factor does, or always the other way, whichever is better; ties half."""
    apart = of_factor != 0
    agrees = np.sign(of_code[apart]) * np.sign(of_factor[apart])
    return float(0.5 + abs(agrees.mean()) / 2) if apart.any() else 0.5

"""Disentanglement score by nearest neighbours on single codes (Rolinek, Zietlow & Martius, 2019)."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError, unknown_name
from unbraid.metrics._discrete import top_two
from unbraid.metrics._kinds import never_alone, perfect_code, targets
from unbraid.metrics._neighbours import neighbour_spans
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Sample, Score, check_arrays, check_kinds, check_seed, generator, split

__all__ = ["disentanglement_score"]


@register(
    "disentanglement_score",
    needs="sample",
    range=UNIT,
    title="DS (nearest neighbours)",
    short="DS",
    about="gap between the two codes that best predict a factor by nearest neighbours",
    measured=True,
)
def disentanglement_score(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    test: tuple[ArrayLike, ArrayLike] | None = None,
    neighbours: int = 5,
    mode: Literal["bounded", "literal"] = "bounded",
    kinds: Sequence[str] | None = None,
    seed: int = 0,
) -> Score:
    """Mean over factors of the gap between the two codes that predict it best by nearest neighbours on a line.

    An ordinal factor is regressed: a code earns ``sd(v) - rmse``, in units of ``sd(v)``; a periodic one likewise as
    a point on the circle. A categorical factor is classified: a code earns its accuracy. The predictor is fitted on
    four fifths of the samples and scored on the rest (or on ``test``); all values equally far away count as neighbours.
    A single code is compared with a constant one.

    Flaw of the published form (``mode="literal"``): an uninformative code can earn less than nothing, so a perfect code
    reaches 1.095, and accuracies are divided by the best constant guess, so three classes reach 2. ``"bounded"`` floors
    what a code earns at the constant guess and divides by what is left to win; all terms lie in [0, 1].
    """
    if mode not in ("bounded", "literal"):
        raise unknown_name("mode", mode, ("bounded", "literal"))
    if neighbours < 1:
        raise UsageError(f"neighbours must be at least 1, got {neighbours}")
    codes, factors = check_arrays(codes, factors, measured=True)
    known = check_kinds(kinds, factors)
    if test is None:
        order = generator(seed).permutation(len(codes))
        cut = max(len(codes) // 5, 1)
        test = codes[order[:cut]], factors[order[:cut]]
        codes, factors = codes[order[cut:]], factors[order[cut:]]
    train, held_out = split(codes, factors, test=test, measured=True)
    earned, unit = _earned(train, held_out, known, neighbours, mode)
    ideal = perfect_code(np.concatenate([train[1], held_out[1]]), known)
    n = len(train[0])
    best = _earned((ideal[:n], train[1]), (ideal[n:], held_out[1]), known, neighbours, mode)
    gaps = _gaps(earned, unit)
    return Score(
        "disentanglement_score",
        float(gaps.mean()),
        float(_gaps(*best).mean()),
        {"per_factor": gaps, "earned": earned[: codes.shape[1]], "unit": unit},
        {
            "estimator": "nearest neighbours on one code",
            "neighbours": neighbours,
            "mode": mode,
            "kinds": list(known) if kinds is not None else None,
            "train": n,
            "test": len(held_out[0]),
            "seed": check_seed(seed),
        },
    )


def _gaps(earned: np.ndarray, unit: np.ndarray) -> np.ndarray:
    top, second = top_two(earned)
    return np.where(unit > 0, (top - second) / np.where(unit > 0, unit, 1), 0.0)


def _earned(train: Sample, test: Sample, kinds: Sequence[str], k: int, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """What each code earns on each factor ``[max(d, 2), K]`` and what a factor has to give ``[K]``."""
    (codes, factors), (queries, truth) = train, test
    codes, queries = never_alone(codes), never_alone(queries)
    values = [np.unique(np.concatenate([factors[:, i], truth[:, i]])) for i in range(factors.shape[1])]
    fitted = [targets(factors[:, i], kind, values[i]) for i, kind in enumerate(kinds)]
    wanted = [targets(truth[:, i], kind, values[i]) for i, kind in enumerate(kinds)]
    earned, unit = np.empty((codes.shape[1], len(kinds))), np.empty(len(kinds))
    for j in range(codes.shape[1]):
        order = np.argsort(codes[:, j], kind="stable")
        lo, hi = neighbour_spans(codes[order, j], queries[:, j], k)
        for i, kind in enumerate(kinds):
            sums = np.concatenate([np.zeros((1, fitted[i].shape[1])), fitted[i][order].cumsum(axis=0)])
            mean = (sums[hi] - sums[lo]) / (hi - lo)[:, None]
            if kind == "categorical":
                constant = wanted[i].mean(axis=0).max()
                accuracy = (mean.argmax(axis=1) == wanted[i].argmax(axis=1)).mean()
                earned[j, i] = max(accuracy, constant) if mode == "bounded" else accuracy
                unit[i] = 1 - constant if mode == "bounded" else constant
            else:
                spread = np.sqrt(wanted[i].var(axis=0).sum())
                gain = spread - np.sqrt(((mean - wanted[i]) ** 2).sum(axis=1).mean())
                earned[j, i] = max(gain, 0.0) if mode == "bounded" else gain
                unit[i] = spread
    return earned, unit

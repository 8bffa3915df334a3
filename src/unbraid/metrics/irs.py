"""Interventional robustness score (Suter, Miladinovic, Schölkopf & Bauer, 2019)."""

import numpy as np
from numpy.typing import ArrayLike

from unbraid.metrics._discrete import bin_codes, identity_code, relabel
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Score, check_arrays, check_seed

__all__ = ["irs"]


@register("irs", range=UNIT, title="IRS", about="does a code stay while other factors change")
def irs(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    bins: int = 20,
    quantile: float = 0.99,
    robust: bool = False,
    seed: int = 0,
) -> Score:
    """How little a code moves when one factor stays and all others change, at its best factor.

    Samples are grouped by a factor's value (at most ``bins`` groups); within a group the ``quantile`` of the absolute
    deviations from the group mean, averaged over groups, is divided by the code's largest deviation from its mean.
    One minus that, at the best factor, is the code's score; codes are averaged by their largest deviation.
    Constant codes are left out; if none is left the score is 0.

    Flaws: independent noise scores about 0.35, and one outlier raises every score, because a quantile is compared with
    a maximum; codes of large scale count more. ``robust=True`` compares like with like (the same quantile
    of the overall deviations) and lets every code count the same: noise then scores about 0.
    """
    codes, factors = check_arrays(codes, factors)
    groups = relabel(bin_codes(identity_code(factors), bins))[0]
    perfect = identity_code(factors)
    inner = _inner_deviations(np.hstack([codes, perfect]), groups, quantile)  # [d + K, K]
    value, table, weights = _robustness(codes, inner[: codes.shape[1]], quantile, robust)
    ceiling, _, _ = _robustness(perfect, inner[codes.shape[1] :], quantile, robust)
    return Score(
        "irs",
        value,
        ceiling,
        {"per_code": table.max(axis=1), "scores": table, "weights": weights, "active": weights > 0},
        {"bins": bins, "quantile": quantile, "robust": robust, "samples": len(codes), "seed": check_seed(seed)},
    )


def _robustness(
    codes: np.ndarray, inner: np.ndarray, quantile: float, robust: bool
) -> tuple[float, np.ndarray, np.ndarray]:
    deviations = np.abs(codes - codes.mean(axis=0))
    moves = np.ptp(codes, axis=0) > 0
    scale = np.where(moves, np.quantile(deviations, quantile, axis=0) if robust else deviations.max(axis=0), 0.0)
    table = np.zeros(inner.shape)
    if not scale.any():
        return 0.0, table, scale
    table[scale > 0] = 1 - inner[scale > 0] / scale[scale > 0, None]
    weights = (scale > 0).astype(np.float64) if robust else scale
    return float(np.average(np.clip(table.max(axis=1), 0, 1), weights=weights)), table, weights


def _inner_deviations(codes: np.ndarray, groups: np.ndarray, quantile: float) -> np.ndarray:
    """Mean over a factor's groups of the quantile of absolute deviations from the group's mean: ``[d, K]``."""
    columns = np.ascontiguousarray(codes.T)  # [d, n]: partitions run along memory
    inner = np.empty((len(columns), groups.shape[1]))
    for k in range(groups.shape[1]):
        order = np.argsort(groups[:, k], kind="stable")
        counts = np.bincount(groups[:, k])
        starts = np.cumsum(counts) - counts
        ordered = columns[:, order]
        means = np.add.reduceat(ordered, starts, axis=1) / counts
        ordered -= np.repeat(means, counts, axis=1)
        deviations = np.abs(ordered, out=ordered)
        total = np.zeros(len(columns))
        for start, count in zip(starts, counts, strict=True):
            below, share = divmod(quantile * (count - 1), 1)
            part = deviations[:, start : start + count]
            part.partition(int(below), axis=1)
            low = part[:, int(below)]
            total += low + share * (part[:, int(below) + 1 :].min(axis=1) - low) if share else low
        inner[:, k] = total / len(counts)
    return inner

"""Interventional robustness score (Suter, Miladinovic, Schölkopf & Bauer, 2019)."""

import numpy as np
from numpy.typing import ArrayLike

from unbraid.metrics._discrete import bin_codes, check_bins, relabel
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Score, check_arrays, check_seed

__all__ = ["irs"]


@register("irs", range=UNIT, title="IRS", about="does a code stay while other factors change", counts=True)
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
    check_bins(bins, len(codes))
    labels, values = relabel(factors)
    groups = np.empty(labels.T.shape, dtype=np.int64)  # [K, n]: work runs along memory
    for k, size in enumerate(values):
        # A value's bin follows from the range alone; as many bins as values separate them all, and so do more.
        group_of = relabel(bin_codes(np.arange(size)[:, None], min(bins, int(size))))[0]
        groups[k] = group_of[labels[:, k], 0]
    value, table, weights = _score(*_deviations(np.ascontiguousarray(codes.T), groups, quantile, robust), robust)
    ceiling, _, _ = _score(*_label_deviations(np.ascontiguousarray(labels.T), groups, quantile, robust), robust)
    return Score(
        "irs",
        value,
        ceiling,
        {"per_code": table.max(axis=1), "scores": table, "weights": weights, "active": weights > 0},
        {"bins": bins, "quantile": quantile, "robust": robust, "samples": len(codes), "seed": check_seed(seed)},
    )


def _score(inner: np.ndarray, scale: np.ndarray, robust: bool) -> tuple[float, np.ndarray, np.ndarray]:
    """The score, one minus inner deviation over scale for each pair ``[d, K]``, and the weights of the codes."""
    table = np.zeros(inner.shape)
    if not scale.any():
        return 0.0, table, scale
    table[scale > 0] = 1 - inner[scale > 0] / scale[scale > 0, None]
    weights = (scale > 0).astype(np.float64) if robust else scale
    return float(np.average(np.clip(table.max(axis=1), 0, 1), weights=weights)), table, weights


def _deviations(codes: np.ndarray, groups: np.ndarray, quantile: float, robust: bool) -> tuple[np.ndarray, np.ndarray]:
    """Of codes ``[d, n]``: the quantile of deviations within a factor's groups, on average ``[d, K]``, and overall."""
    low, high, mean = codes.min(axis=1), codes.max(axis=1), codes.mean(axis=1)
    scale = _quantile(np.abs(codes - mean[:, None]), quantile) if robust else np.maximum(high - mean, mean - low)
    inner = np.zeros((len(codes), len(groups)))
    for k, group in enumerate(groups):
        counts = np.bincount(group)
        order = np.argsort(group.astype(np.min_scalar_type(len(counts))), kind="stable")  # a radix sort up to 2^16
        for members in np.split(order, np.cumsum(counts)[:-1]):
            part = codes.take(members, axis=1)
            part -= part.mean(axis=1, keepdims=True)
            inner[:, k] += _quantile(np.abs(part, out=part), quantile)
        inner[:, k] /= len(counts)
    return inner, np.where(high > low, scale, 0.0)


def _quantile(rows: np.ndarray, quantile: float) -> np.ndarray:
    """The same as ``np.quantile(rows, quantile, axis=1)``, in place: ``[d]``."""
    position = quantile * (rows.shape[1] - 1)
    below = int(position)
    rows.partition(below, axis=1)
    low = rows[:, below]
    return low + (position - below) * (rows[:, below + 1 :].min(axis=1) - low) if position > below else low


def _label_deviations(
    labels: np.ndarray, groups: np.ndarray, quantile: float, robust: bool
) -> tuple[np.ndarray, np.ndarray]:
    """What :func:`_deviations` gives for the factors themselves, from how often each value occurs in each group."""
    inner = np.column_stack([_counted(labels, group, quantile).mean(axis=1) for group in groups])
    mean, most = labels.mean(axis=1), labels.max(axis=1)
    whole = np.zeros(labels.shape[1], dtype=np.int64)
    return inner, _counted(labels, whole, quantile)[:, 0] if robust else np.maximum(mean, most - mean)


def _counted(labels: np.ndarray, group: np.ndarray, quantile: float) -> np.ndarray:
    """The quantile of deviations of each row of labels ``[K, n]`` within each group: ``[K, groups]``."""
    size, most, rows = int(group.max()) + 1, int(labels.max()) + 1, len(labels)
    keys = (labels + (group * most + size * most * np.arange(rows)[:, None])).ravel()
    if rows * size * most <= 4 * keys.size:
        table = np.bincount(keys)
        pairs = np.flatnonzero(table)
        times = table[pairs]
    else:
        pairs, times = np.unique(keys, return_counts=True)
    part, value = np.divmod(pairs, most)
    counts = np.tile(np.bincount(group), rows)
    means = np.bincount(part, times * value) / counts
    deviations = np.abs(value - means[part])
    order = np.lexsort((deviations, part))
    ends = np.cumsum(times[order])
    below, share = np.divmod(quantile * (counts - 1), 1)
    at = np.cumsum(counts) - counts + below.astype(np.int64)
    low = deviations[order[np.searchsorted(ends, at, side="right")]]
    high = deviations[order[np.searchsorted(ends, at + (share > 0), side="right")]]
    return (low + share * (high - low)).reshape(rows, size)

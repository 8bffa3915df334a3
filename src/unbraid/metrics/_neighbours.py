"""Nearest neighbours on a line, where sorting answers every question."""

import numpy as np

__all__ = ["information_with_labels", "neighbour_spans"]


def neighbour_spans(sorted_values: np.ndarray, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """For each query the half-open span of sorted positions holding its ``k`` nearest values, ties included.

    All values as near as the ``k``-th one belong to the span, so the answer depends neither on the order of the
    samples nor on the sign of the axis.
    """
    n = len(sorted_values)
    k = min(k, n)
    position = np.searchsorted(sorted_values, queries)
    starts = np.clip(position[:, None] + np.arange(-k, 1), 0, n - k)  # [m, k + 1], one of them starts the nearest k
    reach = np.maximum(queries[:, None] - sorted_values[starts], sorted_values[starts + k - 1] - queries[:, None])
    # Differences of equal decimals differ in the last bits; without slack a tie would be cut at random.
    radius = reach.min(axis=1) * (1 + 1e-9)
    lo = np.searchsorted(sorted_values, queries - radius, side="left")
    hi = np.searchsorted(sorted_values, queries + radius, side="right")
    first = np.take_along_axis(starts, reach.argmin(axis=1)[:, None], axis=1)[:, 0]
    return np.minimum(lo, first), np.maximum(hi, first + k)


def information_with_labels(
    values: np.ndarray, labels: np.ndarray, rng: np.random.Generator, *, neighbours: int = 3
) -> float:
    """Mutual information of a continuous variable and a discrete one by nearest neighbours, in nats (Ross, 2014).

    Ties are broken by noise of 1e-10 standard deviations from ``rng``. A label seen once tells nothing and is left out;
    a label with few samples uses as many neighbours as it has. The estimate is clipped at 0.
    """
    from scipy.special import digamma

    spread = values.std()
    if spread == 0:
        return 0.0
    values = (values - values.mean()) / spread
    values = values + 1e-10 * rng.standard_normal(len(values))
    counts = np.bincount(labels)[labels]
    values, labels, counts = values[counts > 1], labels[counts > 1], counts[counts > 1]
    n = len(values)
    if n == 0:
        return 0.0
    order = np.lexsort((values, labels))
    values, labels, counts = values[order], labels[order], counts[order]
    k = np.minimum(neighbours, counts - 1)

    # Distance to the k-th neighbour of the same label: the best window of k + 1 sorted values around each sample.
    place = np.arange(n)
    start = np.searchsorted(labels, labels)
    end = start + counts
    radius = np.full(n, np.inf)
    for below in range(neighbours + 1):
        left, right = place - below, place - below + k
        fits = (left >= start) & (right < end) & (below <= k)
        left, right = np.where(fits, left, place), np.where(fits, right, place)
        reach = np.maximum(values - values[left], values[right] - values)
        radius = np.where(fits, np.minimum(radius, reach), radius)

    line = np.sort(values)
    # The estimator counts strictly nearer values; without slack the k-th one itself slips in by rounding.
    radius = np.maximum(radius - 4 * np.finfo(float).eps * (1 + np.abs(values)), 0)
    within = np.searchsorted(line, values + radius, side="right") - np.searchsorted(line, values - radius, side="left")
    estimate = digamma(n) + np.mean(digamma(k)) - np.mean(digamma(counts)) - np.mean(digamma(np.maximum(within, 1)))
    return max(float(estimate), 0.0)

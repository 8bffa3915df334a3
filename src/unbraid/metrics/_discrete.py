"""Counting: histogram bins, entropies and mutual information of all pairs of columns, in nats."""

from typing import Literal

import numpy as np

from unbraid.errors import UsageError, unknown_name

__all__ = [
    "Binning",
    "bin_codes",
    "check_bins",
    "code_information",
    "distinct",
    "entropy",
    "identity_code",
    "informative",
    "mutual_information",
    "relabel",
    "top_two",
]

Binning = Literal["width", "quantile", "values"]


def bin_codes(codes: np.ndarray, bins: int = 20, binning: Binning = "width") -> np.ndarray:
    """Each column cut into at most ``bins`` bins: int64 ``[n, d]``, values ``0..bins-1``.

    ``"width"`` cuts the range from minimum to maximum into equal pieces, so one outlier can push all other samples into
    a single bin; ``"quantile"`` gives every bin as many samples as ties allow. A constant column lands in one bin.
    ``"values"`` cuts nothing: codes of a few values each, whose number of bins is theirs.

    >>> bin_codes(np.array([[0.0], [1.0], [2.0], [100.0]]), 4).ravel()
    array([0, 0, 0, 3])
    >>> bin_codes(np.array([[0.0], [1.0], [2.0], [100.0]]), 4, "quantile").ravel()
    array([0, 1, 2, 3])
    """
    if binning not in ("width", "quantile", "values"):
        raise unknown_name("binning", binning, ("width", "quantile", "values"))
    if binning == "values":
        return relabel(codes)[0]
    check_bins(bins, len(codes))
    if binning == "width":
        edges = np.linspace(codes.min(axis=0), codes.max(axis=0), bins + 1)  # [bins + 1, d]
    else:
        edges = np.quantile(codes, np.linspace(0, 1, bins + 1), axis=0)
    binned = np.empty(codes.shape, dtype=np.int64)
    for column in range(codes.shape[1]):
        # Only inner edges decide: the first bin takes the minimum, the last one the maximum.
        binned[:, column] = np.searchsorted(np.unique(edges[1:-1, column]), codes[:, column], side="right")
    return binned


def check_bins(bins: int, samples: int) -> None:
    """Refuse numbers of bins that no sample of this size can fill."""
    most = max(1000, samples)
    if not 2 <= bins <= most:
        raise UsageError(f"bins must lie in 2..{most}, got {bins}; more bins than samples hold nothing")


def distinct(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sorted distinct values of numbers, and each entry's position among them.

    The same as ``np.unique`` with the inverse; where the values lie close together, as indices do, a table of those
    that occur replaces the sorting.
    """
    if column.dtype.kind == "f":
        values, where = np.unique(column, return_inverse=True)
        return values, where.reshape(-1)
    low, high = int(column.min()), int(column.max())
    if high - low > 4 * len(column) + 1_000:
        values, where = np.unique(column, return_inverse=True)
        return values, where.reshape(-1)
    offset = column - low
    occurs = np.zeros(high - low + 1, dtype=bool)
    occurs[offset] = True
    return np.flatnonzero(occurs) + low, (np.cumsum(occurs) - 1)[offset]


def relabel(factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values of each column numbered from 0 in their order, and how many there are: ``[n, K]`` and ``[K]``."""
    labels = np.empty(factors.shape, dtype=np.int64)
    sizes = np.empty(factors.shape[1], dtype=np.int64)
    for column in range(factors.shape[1]):
        values, labels[:, column] = distinct(factors[:, column])
        sizes[column] = len(values)
    return labels, sizes


def entropy(labels: np.ndarray) -> np.ndarray:
    """Plug-in entropy of each integer column, in nats: ``[K]``."""
    labels, sizes = relabel(labels)
    n = len(labels)
    sums = [_n_log_n(np.bincount(labels[:, k], minlength=size)).sum() for k, size in enumerate(sizes)]
    return np.maximum(np.log(n) - np.array(sums) / n, 0.0)


def mutual_information(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Plug-in mutual information of every column of ``a`` with every column of ``b``, in nats: ``[p, q]``.

    One histogram per column of ``b`` holds the joint counts with all columns of ``a``.

    >>> bits = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> mutual_information(bits, bits) / np.log(2)
    array([[1., 0.],
           [0., 1.]])
    """
    a, a_sizes = relabel(a)
    b, b_sizes = relabel(b)
    n, p = a.shape
    information = np.empty((p, len(b_sizes)))
    rows = int(a_sizes.max())
    stacked = a + rows * np.arange(p)  # [n, p], the columns of a side by side
    for q, size in enumerate(b_sizes):
        joint = np.bincount((stacked * size + b[:, q : q + 1]).ravel(), minlength=p * rows * size)
        counts = joint.reshape(p, rows, size)
        both = _n_log_n(counts).sum(axis=(1, 2))
        left = _n_log_n(counts.sum(axis=2)).sum(axis=1)
        right = _n_log_n(counts.sum(axis=1)).sum(axis=1)
        information[:, q] = np.log(n) + (both - left - right) / n
    # Rounding leaves specks of 1e-16 where the truth is zero; scores divide by these numbers.
    return np.where(information < 1e-12, 0.0, information)


def code_information(codes: np.ndarray, factors: np.ndarray, bins: int = 20, binning: Binning = "width") -> np.ndarray:
    """Mutual information of each binned code with each factor, in nats: ``[d, K]``."""
    return mutual_information(bin_codes(codes, bins, binning), factors)


def informative(information: np.ndarray, binned: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Which codes know something about some factor beyond chance: bool ``[d]``.

    Plug-in information is positive even between strangers. Under independence ``2 n I`` follows a chi-square law with
    ``(bins - 1)(values - 1)`` degrees of freedom; a code counts once a factor exceeds its one-in-a-million quantile.
    """
    from scipy.special import chdtri

    freedom = np.outer(relabel(binned)[1] - 1, relabel(factors)[1] - 1)
    chance = np.where(freedom > 0, chdtri(np.maximum(freedom, 1), 1e-6), np.inf)
    beyond: np.ndarray = 2 * len(binned) * information > chance
    return np.any(beyond, axis=1)


def identity_code(factors: np.ndarray) -> np.ndarray:
    """The perfect code of an estimator that only counts: one column per factor, its values numbered from 0."""
    return relabel(factors)[0].astype(np.float64)


def top_two(matrix: np.ndarray, axis: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Largest and second largest entry along an axis; the second of a single entry is 0.

    >>> top_two(np.array([[3.0, 1.0], [2.0, 5.0]]))
    (array([3., 5.]), array([2., 1.]))
    """
    ordered = np.sort(np.moveaxis(matrix, axis, 0), axis=0)
    return ordered[-1], ordered[-2] if len(ordered) > 1 else np.zeros_like(ordered[-1])


def _n_log_n(counts: np.ndarray) -> np.ndarray:
    """``c log c`` of integer counts with ``0 log 0 = 0``."""
    return counts * np.log(np.maximum(counts, 1))

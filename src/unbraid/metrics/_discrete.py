"""Counting: histogram bins, entropies and mutual information of all pairs of columns, in nats."""

from typing import Literal

import numpy as np

from unbraid.errors import UsageError, unknown_name

__all__ = ["Binning", "bin_codes", "conditional_entropy", "entropy", "mutual_information", "relabel"]

Binning = Literal["width", "quantile"]


def bin_codes(codes: np.ndarray, bins: int = 20, binning: Binning = "width") -> np.ndarray:
    """Each column cut into at most ``bins`` bins: int64 ``[n, d]``, values ``0..bins-1``.

    ``"width"`` cuts the range from minimum to maximum into equal pieces, so one outlier can push all other samples into
    a single bin; ``"quantile"`` gives every bin as many samples as ties allow. A constant column lands in one bin.

    >>> bin_codes(np.array([[0.0], [1.0], [2.0], [100.0]]), 4).ravel()
    array([0, 0, 0, 3])
    >>> bin_codes(np.array([[0.0], [1.0], [2.0], [100.0]]), 4, "quantile").ravel()
    array([0, 1, 2, 3])
    """
    if bins < 2:
        raise UsageError(f"bins must be at least 2, got {bins}")
    if binning not in ("width", "quantile"):
        raise unknown_name("binning", binning, ("width", "quantile"))
    if binning == "width":
        edges = np.linspace(codes.min(axis=0), codes.max(axis=0), bins + 1)  # [bins + 1, d]
    else:
        edges = np.quantile(codes, np.linspace(0, 1, bins + 1), axis=0)
    binned = np.empty(codes.shape, dtype=np.int64)
    for column in range(codes.shape[1]):
        # Only inner edges decide: the first bin takes the minimum, the last one the maximum.
        binned[:, column] = np.searchsorted(np.unique(edges[1:-1, column]), codes[:, column], side="right")
    return binned


def relabel(factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values of each column numbered from 0 in their order, and how many there are: ``[n, K]`` and ``[K]``."""
    labels = np.empty(factors.shape, dtype=np.int64)
    sizes = np.empty(factors.shape[1], dtype=np.int64)
    for column in range(factors.shape[1]):
        values, labels[:, column] = np.unique(factors[:, column], return_inverse=True)
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


def conditional_entropy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Plug-in entropy of every column of ``b`` once a column of ``a`` is known, in nats: ``[p, q]``."""
    return np.maximum(entropy(b) - mutual_information(a, b), 0.0)


def _n_log_n(counts: np.ndarray) -> np.ndarray:
    """``c log c`` of integer counts with ``0 log 0 = 0``."""
    return counts * np.log(np.maximum(counts, 1))

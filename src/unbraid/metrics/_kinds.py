"""Factors as numbers to be predicted, each kind in the way that respects its order, circle or lack of either."""

from collections.abc import Sequence

import numpy as np

from unbraid.metrics._discrete import relabel

__all__ = ["correlations", "never_alone", "perfect_code", "ranks", "standardize", "targets"]


def standardize(columns: np.ndarray, like: np.ndarray | None = None) -> np.ndarray:
    """Columns with mean 0 and variance 1 (as ``like`` had them, if given); a constant column becomes 0."""
    source = columns if like is None else like
    centre, spread = source.mean(axis=0), source.std(axis=0)
    # Rounding gives a constant column a spread of some ulps of its value.
    still = spread <= 1e-13 * np.abs(centre)
    return np.where(still, 0.0, (columns - centre) / np.where(still, 1.0, spread))


def ranks(columns: np.ndarray) -> np.ndarray:
    """Ranks within each column from 1, ties sharing their mean rank.

    >>> ranks(np.array([[3.0], [1.0], [3.0]])).ravel()
    array([2.5, 1. , 2.5])
    """
    table = np.empty(columns.shape)
    for j in range(columns.shape[1]):
        _, where, counts = np.unique(columns[:, j], return_inverse=True, return_counts=True)
        table[:, j] = (np.cumsum(counts) - (counts - 1) / 2)[where]
    return table


def never_alone(codes: np.ndarray) -> np.ndarray:
    """A single code with a constant one beside it, so that a gap is counted from what a guess without codes gets."""
    return codes if codes.shape[1] > 1 else np.hstack([codes, np.zeros((len(codes), 1))])


def targets(column: np.ndarray, kind: str, values: np.ndarray) -> np.ndarray:
    """A factor as real columns ``[n, m]``: its value, its point on the circle, or one indicator per value.

    ``values`` are the sorted values of the factor; a periodic one is taken to go round once over them. Integers stand
    for their place among the values, floats, which were measured, for themselves.
    """
    if kind == "ordinal" and column.dtype.kind == "f":
        return column[:, None]
    label = np.searchsorted(values, column)
    if kind == "categorical":
        return (column[:, None] == values).astype(np.float64)
    if kind == "periodic":
        angle = 2 * np.pi * label / len(values)
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return label[:, None].astype(np.float64)


def correlations(codes: np.ndarray, factors: np.ndarray, kinds: Sequence[str], *, rank: bool = False) -> np.ndarray:
    """Strength in [0, 1] of each code's relation with each factor: ``[d, K]``.

    Ordinal: absolute correlation (Pearson; Spearman with ``rank``). Periodic: multiple correlation of the code with the
    cosine and sine of the angle. Categorical: correlation ratio, the root of the share of the code's variance
    that lies between categories. The last two do not depend on where the circle starts or how categories are numbered.
    With ``rank`` the codes enter by their ranks. A constant code is related to nothing.
    """
    codes = standardize(ranks(codes) if rank else codes)
    labels, sizes = relabel(factors)
    table = np.empty((codes.shape[1], factors.shape[1]))
    for k, kind in enumerate(kinds):
        if kind == "categorical":
            counts = np.bincount(labels[:, k], minlength=sizes[k])
            sums = np.stack([np.bincount(labels[:, k], column, minlength=sizes[k]) for column in codes.T])
            table[:, k] = np.sqrt((sums**2 / counts).sum(axis=1) / len(codes))
            continue
        basis = _basis(factors[:, k], labels[:, k], kind, sizes[k])
        basis = standardize(ranks(basis) if rank and kind == "ordinal" else basis)
        if kind == "periodic":
            # Two values make an angle without a sine: the rank-deficient direction must not count as explained.
            u, s, _ = np.linalg.svd(basis, full_matrices=False)
            basis = u[:, s > 1e-9 * s[0]] * np.sqrt(len(codes))
        table[:, k] = np.linalg.norm(codes.T @ basis / len(codes), axis=1)
    return np.minimum(table, 1.0)


def perfect_code(factors: np.ndarray, kinds: Sequence[str] | None = None) -> np.ndarray:
    """What a code with nothing left to wish for looks like: one standardised column per factor, two for a circle."""
    labels, sizes = relabel(factors)
    columns = []
    for k, kind in enumerate(kinds or ("ordinal",) * factors.shape[1]):
        columns.append(_basis(factors[:, k], labels[:, k], kind, sizes[k]))
    return standardize(np.hstack(columns))


def _basis(column: np.ndarray, labels: np.ndarray, kind: str, size: int) -> np.ndarray:
    """A factor as what it is measured by: floats by themselves, all else by the numbers of its values."""
    if kind == "periodic":
        return targets(labels, kind, np.arange(size))
    return targets(column if column.dtype.kind == "f" and kind == "ordinal" else labels, "ordinal", np.arange(size))

"""Powers and products of standardised columns: what regressions that need not be linear are fitted on."""

from itertools import combinations_with_replacement

import numpy as np

from unbraid.errors import UsageError
from unbraid.metrics._kinds import standardize

__all__ = ["check_degree", "powers"]


def powers(columns: np.ndarray, degree: int, like: np.ndarray | None = None) -> np.ndarray:
    """A constant and all products of up to ``degree`` standardised columns, in the scale of ``like`` where given.

    >>> powers(np.array([[0.0], [2.0]]), 2)
    array([[ 1., -1.,  1.],
           [ 1.,  1.,  1.]])
    """
    features = standardize(columns, like=like)
    chosen = [
        places
        for size in range(1, degree + 1)
        for places in combinations_with_replacement(range(features.shape[1]), size)
    ]
    return np.column_stack(
        [np.ones(len(features)), *(features[:, places].prod(axis=1) for places in map(list, chosen))]
    )


def check_degree(degree: int) -> int:
    """Refuse degrees that are none."""
    if isinstance(degree, bool) or not isinstance(degree, int) or not 1 <= degree <= 5:
        raise UsageError(f"degree must be a whole number from 1 (linear) to 5, got {degree!r}")
    return degree

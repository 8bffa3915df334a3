"""How far two chosen factors share codes, and mending that with a few labels (Träuble et al., 2021)."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError
from unbraid.metrics._merging import check_matrix, entanglement_of
from unbraid.metrics._score import check_codes, check_factors

__all__ = ["Repair", "pair_entanglement", "repair_pair"]


def pair_entanglement(matrix: ArrayLike, pair: tuple[int, int]) -> tuple[float, float]:
    """The threshold at which a pair of factors share a group, and the median of all other pairs; NaN without others.

    ``matrix`` ``[d, K]`` holds what codes mean for factors, such as DCI's importance
    (:func:`unbraid.metrics.entanglement_of`).

    >>> pair_entanglement([[0.9, 0.1, 0], [0.2, 0.8, 0.3], [0, 0.1, 0.7]], (1, 2))
    (0.3, 0.2)
    """
    strength = entanglement_of(matrix)
    a, b = _checked(pair, len(strength))
    others = [strength[i, j] for i in range(len(strength)) for j in range(i) if {i, j} != {a, b}]
    return float(strength[a, b]), float(np.median(others)) if others else float("nan")


@dataclass(frozen=True)
class Repair:
    """Two codes that give way to a linear fit of two factors."""

    codes: tuple[int, int]
    """Which codes."""
    weights: np.ndarray
    """Slopes and constants ``[3, 2]``."""

    def __call__(self, codes: ArrayLike) -> np.ndarray:
        """The codes ``[n, d]`` with the two replaced: the first tells the pair's first factor, the second the other."""
        repaired = check_codes(codes).copy()
        repaired[:, list(self.codes)] = _with_one(repaired[:, list(self.codes)]) @ self.weights
        return repaired


def repair_pair(codes: ArrayLike, factors: ArrayLike, matrix: ArrayLike, pair: tuple[int, int]) -> Repair:
    """Fit a pair of factors linearly by the two codes that matter most for it, on a few labelled codes ``[n, d]``.

    Those are the codes with the largest sum of the pair's two columns of ``matrix`` ``[d, K]``. For a repair that needs
    no other labels, the matrix must be that of the labelled codes, too. Two factors that a model turned into each other
    come apart again; what it did to others stays.
    """
    labelled, truth = check_codes(codes), check_factors(factors, constant=True)
    if len(labelled) != len(truth):
        raise UsageError(f"codes and factors differ in length: {len(labelled)} rows and {len(truth)} rows")
    table = check_matrix(matrix)
    a, b = _checked(pair, truth.shape[1])
    check_factors(truth[:, [a, b]], name="the pair's factors")
    if table.shape != (labelled.shape[1], truth.shape[1]):
        raise UsageError(f"matrix must be [{labelled.shape[1]}, {truth.shape[1]}] here, got shape {table.shape}")
    if len(table) < 2:
        raise UsageError("a pair of factors needs two codes to be told by, got 1")
    if not table[:, [a, b]].any():
        raise UsageError(f"matrix has only zeros for the pair {(a, b)}: no code tells of it, and none can be repaired")
    first, second = (int(j) for j in np.argsort(-(table[:, a] + table[:, b]), kind="stable")[:2])
    inputs = _with_one(labelled[:, [first, second]])
    weights = np.linalg.lstsq(inputs, truth[:, [a, b]].astype(np.float64), rcond=None)[0]
    return Repair((first, second), weights)


def _with_one(columns: np.ndarray) -> np.ndarray:
    return np.hstack([columns, np.ones((len(columns), 1))])


def _checked(pair: tuple[int, int], factors: int) -> tuple[int, int]:
    found = [int(k) for k in pair if isinstance(k, Integral) and not isinstance(k, bool) and 0 <= k < factors]
    if len(pair) != 2 or len(set(found)) != 2:
        raise UsageError(f"pair must be two different factors of 0..{factors - 1}, got {pair}")
    return found[0], found[1]

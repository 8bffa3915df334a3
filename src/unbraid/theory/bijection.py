"""The bijection of the impossibility theorem: the law stays, every coordinate comes to depend on every coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError
from unbraid.theory.marginals import Marginal, marginals_of
from unbraid.theory.orthogonal import MatrixName, mixing_matrix

__all__ = ["Bijection", "bijection"]


class Bijection:
    """``f = g^-1 h^-1 A h g``: marginal cdfs, normal quantiles, an orthogonal matrix, and back.

    If the coordinates of u are independent with the given marginals, f(u) has the law of u; yet no partial derivative
    ``df_i / du_j`` vanishes. Nobody who sees only data can tell u from f(u) (Locatello et al., 2019, theorem 1).
    For standard normal marginals f(u) is ``A u``.

    >>> f = bijection(2, matrix="hadamard", marginals="normal")
    >>> f([[1.0, 1.0]]).round(4).tolist()
    [[1.4142, 0.0]]
    >>> f.inverse(f([[0.5, -2.0]])).round(12).tolist()
    [[0.5, -2.0]]
    """

    def __init__(self, matrix: np.ndarray, marginals: Sequence[Marginal]) -> None:
        self.matrix, self.marginals = matrix, tuple(marginals)

    @property
    def dimensions(self) -> int:
        return len(self.matrix)

    def __call__(self, points: ArrayLike) -> np.ndarray:
        """f of points ``[n, d]``, float64."""
        return self.from_normal(self.to_normal(points) @ self.matrix.T)

    def inverse(self, points: ArrayLike) -> np.ndarray:
        """The points that f takes to these ``[n, d]``; equal to f itself when the matrix is symmetric."""
        return self.from_normal(self.to_normal(points) @ self.matrix)

    def jacobian(self, points: ArrayLike) -> np.ndarray:
        """``df_i / du_j`` at each point: ``[n, d, d]``, i before j.

        ``A_ij`` times the slope of ``h g`` at the input's coordinate j, over its slope at the output's coordinate i.
        """
        inputs = self._check(points)
        return self.matrix * self._slopes(inputs)[:, None, :] / self._slopes(self(inputs))[:, :, None]

    def to_normal(self, points: ArrayLike) -> np.ndarray:
        """``h g``: every coordinate made standard normal by itself."""
        columns = self._check(points).T
        return np.stack([law.to_normal(column) for law, column in zip(self.marginals, columns, strict=True)], axis=1)

    def from_normal(self, points: np.ndarray) -> np.ndarray:
        """``g^-1 h^-1``: back to the marginals."""
        return np.stack([law.from_normal(column) for law, column in zip(self.marginals, points.T, strict=True)], axis=1)

    def _slopes(self, points: np.ndarray) -> np.ndarray:
        return np.stack([law.slope(column) for law, column in zip(self.marginals, points.T, strict=True)], axis=1)

    def _check(self, points: ArrayLike) -> np.ndarray:
        array = np.asarray(points, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != self.dimensions:
            raise UsageError(f"points must be [n, {self.dimensions}], got shape {array.shape}")
        if not np.isfinite(array).all():
            raise UsageError("points has entries that are NaN or infinite")
        return array

    def __repr__(self) -> str:
        laws = sorted({type(law).__name__.lower() for law in self.marginals})
        return f"<Bijection of {self.dimensions} dimensions, {' and '.join(laws)} marginals>"


def bijection(
    dimensions: int | None = None,
    *,
    matrix: MatrixName | ArrayLike = "householder",
    alpha: float = 0.3,
    marginals: str | Sequence[Any] = "uniform",
    seed: int = 0,
) -> Bijection:
    """The bijection for a matrix and marginals, both by name or own.

    ``matrix`` is ``"householder"`` (with ``alpha``), ``"hadamard"`` (2, 4, 8, ... dimensions), ``"random"`` (by
    ``seed``) or an orthogonal array without zero entries. ``marginals`` is ``"uniform"``, ``"normal"`` or one law per
    dimension, see :func:`unbraid.theory.marginals_of`; for codes of a model use :func:`unbraid.theory.empirical`.
    """
    if dimensions is None and isinstance(matrix, str) and not isinstance(marginals, str):
        dimensions = len(marginals)
    mixing = mixing_matrix(matrix, dimensions, alpha=alpha, seed=seed)
    return Bijection(mixing, marginals_of(marginals, len(mixing)))

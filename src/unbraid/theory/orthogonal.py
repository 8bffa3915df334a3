"""Orthogonal matrices without zero entries: they turn a standard normal vector into another and mix all of it."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError, unknown_name

__all__ = ["MATRICES", "MatrixName", "check_mixing", "hadamard", "householder", "mixing_matrix", "random_rotation"]

MatrixName = Literal["householder", "hadamard", "random"]
MATRICES: tuple[MatrixName, ...] = ("householder", "hadamard", "random")


def householder(dimensions: int, alpha: float = 0.3) -> np.ndarray:
    """The reflection ``I - 2 v v^T`` with ``v_1^2 = alpha`` and the rest shared alike (Locatello et al., 2019).

    ``0 < alpha < 0.5`` keeps every entry away from zero. The matrix is its own inverse. In two dimensions
    ``alpha = sin^2(pi / 8)`` mixes both coordinates equally; in many it comes near the identity: all entries differ
    from zero, yet each coordinate stays mostly itself.

    >>> householder(2, 0.25).round(3).tolist()
    [[0.5, -0.866], [-0.866, -0.5]]
    """
    _check_dimensions(dimensions)
    if not 0 < alpha < 0.5:
        raise UsageError(f"alpha must lie between 0 and 0.5, both excluded (the ends give zero entries), got {alpha}")
    direction = np.full(dimensions, np.sqrt((1 - alpha) / (dimensions - 1)))
    direction[0] = np.sqrt(alpha)
    return np.eye(dimensions) - 2 * np.outer(direction, direction)


def hadamard(dimensions: int) -> np.ndarray:
    """Sylvester's matrix of signs over ``sqrt(d)``: every output weighs every input alike, the strongest mixing.

    >>> (2 * hadamard(4)).astype(int).tolist()
    [[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]
    """
    _check_dimensions(dimensions)
    if dimensions & (dimensions - 1):
        raise UsageError(
            f"a Hadamard matrix here needs 2, 4, 8, 16, ... dimensions, got {dimensions}; "
            "use householder or random instead"
        )
    signs = np.ones((1, 1))
    while len(signs) < dimensions:
        signs = np.block([[signs, signs], [signs, -signs]])
    return signs / np.sqrt(dimensions)


def random_rotation(dimensions: int, seed: int = 0) -> np.ndarray:
    """A matrix drawn evenly from all orthogonal ones (QR of normal draws, signs fixed)."""
    _check_dimensions(dimensions)
    normal = np.random.default_rng(seed).standard_normal((dimensions, dimensions))
    rotation, triangle = np.linalg.qr(normal)
    return rotation * np.sign(np.diag(triangle))


def mixing_matrix(
    matrix: MatrixName | ArrayLike, dimensions: int | None = None, *, alpha: float = 0.3, seed: int = 0
) -> np.ndarray:
    """The named matrix of this many dimensions, or an own one after the checks of :func:`check_mixing`."""
    if not isinstance(matrix, str):
        own = check_mixing(matrix)
        if dimensions is not None and len(own) != dimensions:
            raise UsageError(f"the matrix has {len(own)} dimensions, expected {dimensions}")
        return own
    if matrix not in MATRICES:
        raise unknown_name("matrix", matrix, MATRICES, "An own orthogonal array works too")
    if dimensions is None:
        raise UsageError(f"matrix {matrix!r} needs to know how many dimensions")
    if matrix == "householder":
        return householder(dimensions, alpha)
    return hadamard(dimensions) if matrix == "hadamard" else check_mixing(random_rotation(dimensions, seed))


def check_mixing(matrix: ArrayLike, *, smallest: float = 1e-9) -> np.ndarray:
    """The matrix as float64 if it is square, orthogonal to 1e-9 and has no entry below ``smallest`` in size."""
    array = np.asarray(matrix, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or len(array) < 2:
        raise UsageError(f"matrix must be square with at least 2 rows, got shape {array.shape}")
    error = float(np.abs(array @ array.T - np.eye(len(array))).max())
    if not error <= 1e-9:
        raise UsageError(f"matrix must be orthogonal, but A A^T differs from the identity by {error:.1e}")
    row, column = np.unravel_index(np.abs(array).argmin(), array.shape)
    if abs(array[row, column]) < smallest:
        raise UsageError(
            f"matrix has the entry {array[row, column]:.1e} at row {row}, column {column}: output {row} would not "
            f"depend on input {column}; every entry must differ from zero"
        )
    return array


def _check_dimensions(dimensions: int) -> None:
    if dimensions < 2:
        raise UsageError(f"dimensions must be at least 2 (one coordinate has nothing to mix with), got {dimensions}")

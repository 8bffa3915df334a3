"""Distance to orthogonality: how far the columns of a decoder's Jacobian are from pairwise orthogonal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError
from unbraid.theory.mechanisms import mechanism_contrast

__all__ = [
    "DEGENERATE",
    "Orthogonality",
    "distance_to_orthogonality",
    "largest_distance",
    "nearest_signed_permutation",
    "random_distance",
]

DEGENERATE = 1.05
"""Neighbouring singular values whose ratio is below this leave their directions undetermined."""


@dataclass(frozen=True)
class Orthogonality:
    """Distances at many codes, and the spectra that say whether they mean anything."""

    distances: np.ndarray
    """``|V - P|`` at each code, ``[n]``."""
    singular_values: np.ndarray
    """Of each Jacobian, descending, ``[n, d]``."""
    contrast: np.ndarray
    """Independent-mechanism contrast at each code, ``[n]``."""

    @property
    def mean(self) -> float:
        """The distance to orthogonality."""
        return float(self.distances.mean())

    @property
    def ratios(self) -> np.ndarray:
        """Smallest ratio of neighbouring singular values at each code; infinite for a single column."""
        s = self.singular_values
        if s.shape[1] < 2:
            return np.full(len(s), np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(s[:, :-1] / s[:, 1:], nan=1.0, posinf=np.inf).min(axis=1)

    @property
    def degenerate(self) -> float:
        """Share of codes with two singular values within 5 % of each other, where the distance says little."""
        return float((self.ratios < DEGENERATE).mean())

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and lists."""
        return {
            "distance": self.mean,
            "distance_sd": float(self.distances.std()),
            "median_distance": float(np.median(self.distances)),
            "random": random_distance(self.singular_values.shape[1]),
            "largest": largest_distance(self.singular_values.shape[1]),
            "singular_values": np.median(self.singular_values, axis=0).tolist(),
            "degenerate": self.degenerate,
            "contrast": float(self.contrast.mean()),
        }


def distance_to_orthogonality(jacobians: ArrayLike, *, active: ArrayLike | None = None) -> Orthogonality:
    """Mean of ``|V - P|_F``, V from the singular value decomposition ``J = U S V^T``, P its nearest signed permutation.

    ``jacobians`` are ``[n, outputs, d]`` or a single one. It is 0 when columns are orthogonal, and at most
    ``sqrt(2 (d - sqrt d))``. Give the ``active`` latents: columns near zero leave V undetermined. A small distance does
    not say that all factors are kept, and where singular values coincide it says nothing
    (:attr:`Orthogonality.degenerate`).

    >>> turn = np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    >>> bool(np.isclose(distance_to_orthogonality(np.diag([3.0, 1.0]) @ turn).mean, 2 * np.sqrt(2) * np.sin(0.25)))
    True
    """
    matrices = np.asarray(jacobians, dtype=np.float64)
    matrices = matrices[None] if matrices.ndim == 2 else matrices
    if matrices.ndim != 3 or 0 in matrices.shape:
        raise UsageError(f"jacobians must be [n, outputs, d] or [outputs, d], got shape {matrices.shape}")
    if active is not None:
        matrices = matrices[:, :, np.asarray(active, dtype=np.int64)]
    _, outputs, d = matrices.shape
    if d == 0:
        raise UsageError("no latent is active: there is no column to judge")
    if outputs < d:
        raise UsageError(f"{d} columns in {outputs} dimensions cannot be orthogonal; give the active latents")
    _, values, turned = np.linalg.svd(matrices, full_matrices=False)
    distances = np.array([np.linalg.norm(v - nearest_signed_permutation(v)) for v in turned])
    return Orthogonality(distances, values, mechanism_contrast(matrices))


def nearest_signed_permutation(
    matrix: ArrayLike, *, method: Literal["assignment", "milp"] = "assignment"
) -> np.ndarray:
    """The matrix of one ±1 per row and column nearest to an orthogonal one, entry by entry (and in Frobenius norm).

    As no entry exceeds 1 in size, choosing (i, j) changes the L1 cost by ``1 - 2 |V_ij|``: an assignment problem.
    ``milp`` solves the published mixed-integer programme instead, for comparison.
    """
    v = np.asarray(matrix, dtype=np.float64)
    if v.ndim != 2 or v.shape[0] != v.shape[1] or np.abs(v).max() > 1 + 1e-9:
        raise UsageError(f"matrix must be orthogonal (square, no entry beyond 1), got shape {v.shape}")
    if method == "milp":
        return _solve_programme(v)
    if method != "assignment":
        raise UsageError(f"method must be 'assignment' or 'milp', got {method!r}")
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(-np.abs(v))
    nearest = np.zeros_like(v)
    nearest[rows, columns] = np.where(v[rows, columns] < 0, -1.0, 1.0)
    return nearest


def largest_distance(d: int) -> float:
    """No orthogonal d x d matrix is further from the signed permutations than this.

    >>> round(largest_distance(5), 3)
    2.351
    """
    return float(np.sqrt(2 * (d - np.sqrt(d))))


def random_distance(d: int, *, draws: int = 2000, seed: int = 0) -> float:
    """Mean distance of matrices drawn evenly from all orthogonal ones: what a decoder without any alignment has."""
    normal = np.random.default_rng(seed).standard_normal((draws, d, d))
    q, r = np.linalg.qr(normal)
    turned = q * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None]
    return float(np.mean([np.linalg.norm(v - nearest_signed_permutation(v)) for v in turned]))


def _solve_programme(v: np.ndarray) -> np.ndarray:
    """Minimise ``sum D`` over binary P+, P- with ``|P+ - P- - V| <= D`` and one choice per row and column."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    d, n = len(v), v.size
    eye = np.eye(n)
    rows, columns = np.kron(np.eye(d), np.ones(d)), np.kron(np.ones(d), np.eye(d))
    once = np.concatenate([rows, columns])
    found = milp(
        np.concatenate([np.zeros(2 * n), np.ones(n)]),
        integrality=np.concatenate([np.ones(2 * n), np.zeros(n)]),
        bounds=Bounds(0, np.concatenate([np.ones(2 * n), np.full(n, 2.0)])),
        constraints=[
            LinearConstraint(np.hstack([eye, -eye, -eye]), -np.inf, v.ravel()),
            LinearConstraint(np.hstack([eye, -eye, eye]), v.ravel(), np.inf),
            LinearConstraint(np.hstack([once, once, np.zeros((2 * d, n))]), 1, 1),
        ],
    )
    if found.x is None:
        raise UsageError(f"the mixed-integer solver found no solution: {found.message}")
    return np.rint(found.x[:n] - found.x[n : 2 * n]).reshape(d, d)

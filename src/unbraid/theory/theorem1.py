"""Theorem 1 of Rolinek et al. (2019): with a budget of precision, the least noise needs orthogonal Jacobian columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from unbraid.errors import UsageError

__all__ = [
    "WORKED_EXAMPLE",
    "Minimum",
    "best_noise_loss",
    "best_variances",
    "minimise_noise_loss",
    "orthogonal_noise_loss",
    "theorem1_bound",
]

WORKED_EXAMPLE = np.array([[4.0, 1.0], [-3.0, 1.0], [5.0, -1.0]])
"""The published example of a decoder; its columns are nearly, but not quite, orthogonal."""


def best_variances(jacobian: ArrayLike, budget: float = 0.0) -> np.ndarray:
    """The variances with ``sum -log sigma^2 = budget`` that make ``E|J noise|^2`` least: all ``|c_j| sigma_j`` equal.

    >>> v = best_variances(WORKED_EXAMPLE)
    >>> round(float(v[0] / v[1]), 6)
    0.06
    """
    squares = (np.asarray(jacobian, dtype=np.float64) ** 2).sum(axis=0)
    if not squares.all():
        raise UsageError("a column of the Jacobian is zero: its variance would be unbounded")
    return np.exp((np.log(squares).sum() - budget) / len(squares)) / squares


def best_noise_loss(jacobian: ArrayLike, budget: float = 0.0) -> float:
    """The smallest ``E|J noise|^2`` for these columns: ``d (prod |c_j|^2)^(1/d) exp(-budget / d)``."""
    j = np.asarray(jacobian, dtype=np.float64)
    return float(((j**2).sum(axis=0) * best_variances(j, budget)).sum())


def orthogonal_noise_loss(jacobian: ArrayLike, budget: float = 0.0) -> float:
    """The smallest ``E|J noise|^2`` when the latents may be turned too: singular values take the place of columns."""
    j = np.asarray(jacobian, dtype=np.float64)
    values = np.linalg.svd(j, compute_uv=False)
    return best_noise_loss(np.diag(values), budget)


def theorem1_bound(jacobians: ArrayLike | Sequence[ArrayLike], budget: float) -> float:
    """The global minimum of ``sum_i log E|J_i noise_i|^2`` over rotations and variances with this total budget.

    ``N log d - budget / d + (2 / d) sum_i log det J_i``, det the product of the singular values.
    """
    values = _singular_values(jacobians)
    n, d = values.shape
    return float(n * np.log(d) - budget / d + 2 / d * np.log(values).sum())


@dataclass(frozen=True)
class Minimum:
    """Where a descent on rotations and variances ended."""

    value: float
    cosine: float
    """Largest ``|cos|`` between two columns of a Jacobian: 0 when all columns are orthogonal."""
    path: np.ndarray
    """Loss after every iteration, first the random start."""


def minimise_noise_loss(jacobians: ArrayLike, budget: float, *, seed: int = 0) -> Minimum:
    """Descend (BFGS) from random rotations ``V_i`` and variances on ``sum_i log E|J_i noise_i|^2`` at fixed budget.

    The theorem says every local minimum is global: whatever the seed, ``value`` meets :func:`theorem1_bound`.
    """
    from scipy.optimize import OptimizeResult, minimize

    values = torch.as_tensor(_singular_values(jacobians))
    n, d = values.shape
    upper = torch.triu_indices(d, d, 1)
    split = n * upper.shape[1]

    def rotations(x: Tensor) -> Tensor:
        skew = torch.zeros(n, d, d, dtype=x.dtype)
        skew[:, upper[0], upper[1]] = x[:split].view(n, -1)
        return torch.matrix_exp(skew - skew.mT)

    def loss(x: Tensor) -> Tensor:
        squares = (rotations(x).square() * values.square()[:, None]).sum(2)  # |c_j|^2 = sum_k V_jk^2 s_k^2
        free = x[split:]
        variances = (free - free.mean() - budget / (n * d)).view(n, d)
        return torch.logsumexp(squares.log() + variances, 1).sum()

    def evaluate(x: np.ndarray) -> tuple[float, np.ndarray]:
        point = torch.tensor(x, requires_grad=True)
        value = loss(point)
        (gradient,) = torch.autograd.grad(value, point)
        return float(value.detach()), gradient.numpy()

    start = np.random.default_rng(seed).standard_normal(split + n * d) * 1.5
    path = [evaluate(start)[0]]

    def record(intermediate_result: OptimizeResult) -> None:
        path.append(float(intermediate_result.fun))

    found = minimize(evaluate, start, jac=True, method="BFGS", callback=record, options={"gtol": 1e-7})
    columns = values[:, :, None] * rotations(torch.as_tensor(found.x)).mT  # S V^T; U does not matter
    unit = columns / columns.norm(dim=1, keepdim=True)
    cosines = (unit.mT @ unit - torch.eye(d)).abs()
    return Minimum(float(found.fun), float(cosines.max()), np.array(path))


def _singular_values(jacobians: ArrayLike | Sequence[ArrayLike]) -> np.ndarray:
    matrices = np.asarray(jacobians, dtype=np.float64)
    matrices = matrices[None] if matrices.ndim == 2 else matrices
    if matrices.ndim != 3 or matrices.shape[2] > matrices.shape[1]:
        raise UsageError(f"jacobians must be [n, outputs, d] with outputs >= d, got shape {matrices.shape}")
    return np.linalg.svd(matrices, compute_uv=False)

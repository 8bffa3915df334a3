"""Theorem 2 of Rolinek et al. (2019): a linear VAE's latents are the principal components, up to order and sign."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError

__all__ = ["theorem2_bound", "theorem2_objective"]


def theorem2_objective(basis: ArrayLike, covariance: ArrayLike, budget: float = 0.0) -> float:
    """The least noise in reconstructions of this covariance ``[p, p]`` when latents run along this basis ``[p, d]``.

    Latents have unit variance, so a unit vector u is stretched by the standard deviation along it; with the precision
    budget shared out best, the loss is ``d (exp(-budget) prod_j u_j^T C u_j)^(1/d)``.
    """
    u, c = np.asarray(basis, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    if u.ndim != 2 or c.shape != (len(u), len(u)):
        raise UsageError(f"basis must be [p, d] and covariance [p, p], got {u.shape} and {c.shape}")
    if np.abs(u.T @ u - np.eye(u.shape[1])).max() > 1e-8:
        raise UsageError("basis must have orthonormal columns")
    along = np.einsum("pj,pq,qj->j", u, c, u)
    d = u.shape[1]
    return float(d * np.exp((np.log(along).sum() - budget) / d))


def theorem2_bound(covariance: ArrayLike, latents: int, budget: float = 0.0) -> float:
    """What no basis of the space of reconstructions can beat, and only principal directions reach.

    The covariance has this many variances above zero; their geometric mean takes the place of that along a basis.
    """
    variances = np.linalg.eigvalsh(np.asarray(covariance, dtype=np.float64))[::-1][:latents]
    if not variances[-1] > 0:
        raise UsageError(f"the covariance has rank below latents = {latents}")
    return float(latents * np.exp((np.log(variances).sum() - budget) / latents))

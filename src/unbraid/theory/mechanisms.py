"""Local independent-mechanism contrast, and what a diagonal posterior loses to a full one because of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError

__all__ = ["linear_elbo_gap", "mechanism_contrast"]


def mechanism_contrast(jacobians: ArrayLike) -> np.ndarray:
    """``sum_j log |c_j| - 1/2 log det(J^T J)`` of Jacobians ``[..., outputs, d]``: zero iff columns are orthogonal.

    The contrast of Gresele et al. (2021), in nats; infinite for dependent columns.

    >>> round(float(mechanism_contrast([[4.0, 1.0], [-3.0, 1.0], [5.0, -1.0]])), 4)
    0.0564
    """
    matrices = np.asarray(jacobians, dtype=np.float64)
    if matrices.ndim < 2 or matrices.shape[-1] > matrices.shape[-2]:
        raise UsageError(f"jacobians must be [..., outputs, d] with outputs >= d, got shape {matrices.shape}")
    lengths = np.linalg.norm(matrices, axis=-2)
    # Scaled to unit columns first: the contrast does not change, and small columns do not spoil the determinant.
    unit = matrices / np.where(lengths > 0, lengths, 1.0)[..., None, :]
    values = np.linalg.svd(unit, compute_uv=False)
    with np.errstate(divide="ignore"):
        contrast: np.ndarray = -np.log(values).sum(axis=-1)
    return np.maximum(contrast, 0.0)


def linear_elbo_gap(decoder: ArrayLike, precision: float, *, posterior: str = "diagonal") -> float:
    """``log p(x) - ELBO`` of a linear decoder ``[outputs, d]`` with the best posterior, in nats, the same for every x.

    Pixels have noise of this ``precision`` (one over its variance), the prior is standard normal. With a diagonal
    posterior the gap grows with the precision towards the :func:`mechanism_contrast`; a full one closes it.
    """
    w = np.asarray(decoder, dtype=np.float64)
    if w.ndim != 2 or not precision > 0:
        raise UsageError(f"decoder must be [outputs, d] and precision positive, got shape {w.shape} and {precision}")
    if posterior not in ("diagonal", "full"):
        raise UsageError(f"posterior must be 'diagonal' or 'full', got {posterior!r}")
    true = precision * w.T @ w + np.eye(w.shape[1])  # precision of the true posterior
    best = np.diag(1 / np.diag(true)) if posterior == "diagonal" else np.linalg.inv(true)
    # Means agree, so the divergence to the true posterior has only its covariance part.
    log_determinants = np.linalg.slogdet(true)[1] + np.linalg.slogdet(best)[1]
    return float(0.5 * (np.trace(true @ best) - len(true) - log_determinants))

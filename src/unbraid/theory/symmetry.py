"""Why sparse steps identify the axes: what rotations do to them (Klindt et al., 2021, theorem 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError

__all__ = ["rotation_energy", "symmetry_check"]


def rotation_energy(angles: ArrayLike, alpha: float = 1.0, *, points: int = 200_000) -> np.ndarray:
    """E ||R d||_alpha^alpha / E ||d||_alpha^alpha for two independent steps d turned by an angle.

    The steps have density proportional to exp(-rate |d|^alpha); the rate cancels. Angles are in radians. Above 1 means
    that a rotated model explains the steps worse; at alpha 2 it is 1 everywhere and no rotation can be told.

    In polar coordinates the radius integrates out: with g(phi) = |cos phi|^alpha + |sin phi|^alpha the ratio is
    the integral of g(phi + angle) g(phi)^(-1 - 2/alpha) over that of g(phi)^(-2/alpha).

    >>> round(float(rotation_energy(np.pi / 4)), 4), round(float(rotation_energy(1.0, alpha=2)), 4)
    (1.0607, 1.0)
    """
    if not alpha > 0:
        raise UsageError(f"alpha must be positive, got {alpha}")
    turned = np.asarray(angles, float)
    # g has period pi / 2; midpoints keep away from its cusps.
    phi = (np.arange(points) + 0.5) * (np.pi / 2 / points)
    size = _energy(phi, alpha)
    weight = size ** (-1 - 2 / alpha)
    ratios = [(_energy(phi + angle, alpha) * weight).sum() for angle in turned.ravel()]
    return np.reshape(ratios, turned.shape) / (size * weight).sum()


def symmetry_check(matrix: ArrayLike, alpha: float = 1.0, *, tolerance: float = 1e-6, seed: int = 0) -> bool:
    """Whether z -> M z leaves the prior of pairs as it is: all 2-norms and all alpha-norms of differences are kept.

    True for signed permutations and, below alpha 2, for nothing else; at alpha 2 for every rotation and reflection.

    >>> symmetry_check([[0, -1], [1, 0]]), symmetry_check([[0.6, -0.8], [0.8, 0.6]])
    (True, False)
    """
    m = np.asarray(matrix, float)
    if m.ndim != 2 or m.shape[0] != m.shape[1]:
        raise UsageError(f"matrix must be square, got shape {m.shape}")
    if not alpha > 0:
        raise UsageError(f"alpha must be positive, got {alpha}")
    kept = np.allclose(m.T @ m, np.eye(len(m)), atol=tolerance)
    # Unit vectors alone settle it for alpha < 2 (Hadamard's inequality); random ones look at the whole space.
    vectors = np.hstack([np.eye(len(m)), np.random.default_rng(seed).standard_normal((len(m), 64))])
    before, after = ((np.abs(v) ** alpha).sum(axis=0) for v in (vectors, m @ vectors))
    # Below alpha 1 a rounding error e of a zero entry counts e^alpha.
    return bool(kept and np.allclose(before, after, rtol=tolerance ** min(alpha, 1), atol=tolerance ** min(alpha, 1)))


def _energy(phi: np.ndarray, alpha: float) -> np.ndarray:
    return np.abs(np.cos(phi)) ** alpha + np.abs(np.sin(phi)) ** alpha

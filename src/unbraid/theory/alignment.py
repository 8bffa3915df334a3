"""Do latents follow the principal directions of the data?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError

__all__ = ["Alignment", "PrincipalComponents", "pca_alignment", "principal_components"]


@dataclass(frozen=True)
class PrincipalComponents:
    """Directions of largest variance, in descending order."""

    mean: np.ndarray
    directions: np.ndarray
    """Unit columns, ``[p, k]``."""
    variances: np.ndarray
    """``[k]``."""


@dataclass(frozen=True)
class Alignment:
    """Decoder columns against principal directions, each matched to the one that suits it best overall."""

    table: np.ndarray
    """``|cos|`` of every column with every principal direction, ``[d, d]``."""
    matched: np.ndarray
    """Which principal direction each column was matched to, ``[d]``."""
    cosines: np.ndarray
    """``|cos|`` of each column with its match, ``[d]``: 1 where the axes are the same."""
    angles: np.ndarray
    """Principal angles between the two subspaces in degrees, ascending: all 0 where only the axes differ."""
    variances: np.ndarray
    """Variance of the data along each match, ``[d]``."""
    correlations: np.ndarray | None
    """``|corr|`` of each code with the coordinate along its match, if codes were given."""
    order: float | None
    """Rank correlation of the codes' precision with the data's variances: 1 if latents are sorted as PCA is."""

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and lists."""
        return {
            "matched": self.matched.tolist(),
            "cosines": self.cosines.tolist(),
            "mean_cosine": float(self.cosines.mean()),
            "smallest_cosine": float(self.cosines.min()),
            "largest_angle": float(self.angles.max()),
            "variances": self.variances.tolist(),
            "correlations": None if self.correlations is None else self.correlations.tolist(),
            "order": self.order,
        }


def principal_components(points: ArrayLike, k: int) -> PrincipalComponents:
    """The first k of points ``[n, p]``; variances divide by n - 1."""
    x = np.asarray(points, dtype=np.float64)
    if x.ndim != 2 or not 1 <= k <= min(x.shape[0] - 1, x.shape[1]):
        raise UsageError(f"points must be [n, p] with k below n and at most p, got shape {x.shape} and k = {k}")
    mean = x.mean(axis=0)
    x = x - mean
    if x.shape[1] <= x.shape[0]:
        variances, vectors = np.linalg.eigh(x.T @ x / (len(x) - 1))
        directions = vectors[:, ::-1][:, :k]
    else:  # fewer points than pixels: the smaller matrix has the same spectrum
        variances, vectors = np.linalg.eigh(x @ x.T / (len(x) - 1))
        directions = x.T @ vectors[:, ::-1][:, :k]
        directions /= np.maximum(np.linalg.norm(directions, axis=0), 1e-300)
    return PrincipalComponents(mean, directions, np.maximum(variances[::-1][:k], 0.0))


def pca_alignment(
    columns: ArrayLike,
    points: ArrayLike,
    *,
    codes: ArrayLike | None = None,
    posterior_variances: ArrayLike | None = None,
) -> Alignment:
    """Compare decoder columns (or mean Jacobian columns) ``[p, d]`` with the first d principal directions of points.

    Give active columns only: one that is zero has no direction. ``codes`` ``[n, d]`` of the same points and mean
    ``posterior_variances`` ``[d]`` add what they say about scores and order.
    """
    from scipy.linalg import subspace_angles
    from scipy.optimize import linear_sum_assignment
    from scipy.stats import spearmanr

    decoder, x = np.asarray(columns, dtype=np.float64), np.asarray(points, dtype=np.float64)
    if decoder.ndim != 2 or x.ndim != 2 or decoder.shape[0] != x.shape[1]:
        raise UsageError(f"columns must be [p, d] and points [n, p], got {decoder.shape} and {x.shape}")
    lengths = np.linalg.norm(decoder, axis=0)
    if not lengths.all():
        raise UsageError(f"column {int(lengths.argmin())} is zero and has no direction; give active columns only")
    d = decoder.shape[1]
    components = principal_components(x, d)
    cosines = np.abs((decoder / lengths).T @ components.directions)  # [column, direction]
    matched = linear_sum_assignment(-cosines)[1]
    correlations = None
    if codes is not None:
        scores = (x - components.mean) @ components.directions[:, matched]
        z = np.asarray(codes, dtype=np.float64)
        z = z - z.mean(axis=0)
        norms = np.linalg.norm(z, axis=0) * np.linalg.norm(scores, axis=0)
        correlations = np.abs((z * scores).sum(axis=0)) / np.maximum(norms, 1e-300)
    order = None
    if posterior_variances is not None and d > 1:
        precise = -np.asarray(posterior_variances, dtype=np.float64)
        order = float(spearmanr(precise, components.variances[matched]).statistic)
    return Alignment(
        cosines,
        matched,
        cosines[np.arange(d), matched],
        np.degrees(subspace_angles(decoder, components.directions))[::-1],
        components.variances[matched],
        correlations,
        order,
    )

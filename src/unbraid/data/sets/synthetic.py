"""Two uniform factors seen through a known map: the vectors on which the theory of VAEs is checked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unbraid.data.dataset import Card, FactorDataset
from unbraid.data.registry import register
from unbraid.data.space import FactorSpace, check_index
from unbraid.errors import UsageError

__all__ = ["SyntheticLinear", "SyntheticNonlinear", "SyntheticVectors", "linear_map"]

_SPACE = FactorSpace(("first", "second"), (224, 224), ("ordinal", "ordinal"))
"""50,176 points, as near to the published 50,000 as a square grid comes; a square one keeps ratio 1 degenerate."""

_CITATION = "Rolinek, Zietlow and Martius, Variational Autoencoders Pursue PCA Directions (by Accident), CVPR 2019"
_TRAPS = (
    "Float vectors, not images: only fully connected networks (linear, mlp) take them, with a gaussian likelihood.",
    "Vectors are moved and scaled into [0, 1] by `scale`; a published beta b corresponds to b * scale**2 here.",
)
_LINEAR = Card("Synthetic linear", "Computed here.", "MIT", _CITATION, _TRAPS)
_NONLINEAR = Card(
    "Synthetic nonlinear",
    "Computed here by a random network whose initialisation was not published.",
    "MIT",
    _CITATION,
    _TRAPS,
)


class SyntheticVectors(FactorDataset):
    """A function of two uniform factors."""

    space = _SPACE

    def _hold(self, vectors: np.ndarray) -> None:
        """Keep vectors ``[n, width]`` in the middle of [0, 1], one scale for all coordinates."""
        low, high = vectors.min(axis=0), vectors.max(axis=0)
        self.scale = float(1 / (high - low).max())
        """What is seen is ``scale * vectors + offset``."""
        self.offset = 0.5 - self.scale * (low + high) / 2
        self.shape = (vectors.shape[1],)
        self._vectors = (self.scale * vectors + self.offset).astype(np.float32)

    def images(self, index: np.ndarray | Sequence[int], rng: np.random.Generator | None = None) -> np.ndarray:
        return self._vectors[check_index(index, len(self))]


@register("synth-linear", size="3")
class SyntheticLinear(SyntheticVectors):
    """A rectangle in space: one factor stretched by ``ratio``, then turned by 45 degrees about (1, -1, 1).

    Its principal directions are the factors' directions, with variances ratio**2 / 12 and 1 / 12. At ratio 1 they
    are degenerate: no direction is preferred.
    """

    name, card = "synth-linear", _LINEAR

    def __init__(self, ratio: float = 2.0) -> None:
        self.map = linear_map(float(ratio))
        """``[3, 2]``: vectors are ``map @ factors``, factors in [0, 1]."""
        self._hold(_unit_factors() @ self.map.T)


@register("synth-nonlinear", size="6")
class SyntheticNonlinear(SyntheticVectors):
    """The factors through a random network with one hidden layer of ten tanh units, in six dimensions."""

    name, card = "synth-nonlinear", _NONLINEAR

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        first, bias = rng.standard_normal((2, 10)), rng.standard_normal(10)
        second, shift = rng.standard_normal((10, 6)) / np.sqrt(10), rng.standard_normal(6)
        hidden = np.tanh(_unit_factors() @ first + bias)
        slopes = np.einsum("nh,fh,ho->nof", 1 - hidden**2, first, second)
        self.local_variances: np.ndarray = (np.linalg.svd(slopes, compute_uv=False) ** 2).mean(axis=0) / 12
        """Mean variance along the two local directions of the map, larger first, before vectors are scaled: a factor
        has variance 1/12. A VAE keeps a direction whose variance exceeds beta / 2; some maps are as good as curves."""
        self._hold(hidden @ second + shift)


def linear_map(ratio: float = 2.0) -> np.ndarray:
    """Stretch the first of two coordinates and turn the plane in space: ``[3, 2]``, orthogonal columns.

    >>> (linear_map(2.0).T @ linear_map(2.0)).round(9).tolist()
    [[4.0, 0.0], [0.0, 1.0]]
    """
    if not ratio > 0:
        raise UsageError(f"ratio must be positive, got {ratio}")
    axis = np.array([1.0, -1.0, 1.0]) / np.sqrt(3)
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    turn = np.eye(3) + np.sin(np.pi / 4) * cross + (1 - np.cos(np.pi / 4)) * cross @ cross  # Rodrigues
    return turn[:, :2] * [ratio, 1.0]


def _unit_factors() -> np.ndarray:
    """Every grid point in the middle of its cell of the unit square, ``[n, 2]``."""
    return (_SPACE.factors(np.arange(len(_SPACE))) + 0.5) / _SPACE.sizes

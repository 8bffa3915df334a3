"""Adversarial spheres: two concentric spheres in many dimensions, a task whose right answer is known everywhere."""

from __future__ import annotations

import numpy as np

from unbraid.data.dataset import Card, Dataset, Index
from unbraid.data.hashing import hash_bits, hash_normal
from unbraid.data.registry import register
from unbraid.data.space import check_index
from unbraid.errors import UsageError

__all__ = ["Spheres"]

_CARD = Card(
    "Adversarial spheres",
    "Computed here.",
    "MIT",
    "Gilmer et al., Adversarial Spheres, ICLR workshop 2018; Jacobsen et al., Excessive Invariance Causes Adversarial "
    "Vulnerability, ICLR 2019",
    ("Float vectors, not images: only fully connected networks take them.", "seed=1 gives fresh points, to test on."),
)


@register("spheres", images=500_000, size="100")
class Spheres(Dataset):
    """Points on a sphere of radius 1 (inner) or ``radius`` (outer) in ``d`` dimensions, each with probability 1/2.

    ``d=100,radius=10`` is the set of Jacobsen et al. (2019), ``d=500,radius=1.3`` the task of Gilmer et al. (2018). A
    point is a function of ``seed`` and its position, so that nothing is held in memory.
    """

    name, card, classes = "spheres", _CARD, ("inner", "outer")

    def __init__(self, d: int = 100, radius: float = 10.0, images: int = 500_000, seed: int = 0) -> None:
        if d < 2 or images < 1:
            raise UsageError(f"d must be at least 2 and images at least 1, got {d} and {images}")
        if not radius > 1:
            raise UsageError(f"radius, that of the outer sphere, must be larger than 1, got {radius}")
        self.shape, self.radius, self.seed, self._count = (d,), float(radius), seed, images

    def __len__(self) -> int:
        return self._count

    def labels(self, index: Index | None = None) -> np.ndarray:
        positions = self._positions(np.arange(len(self)) if index is None else index)
        return (hash_bits(positions, [self.seed, 1]) >> np.uint64(63)).astype(np.int64)

    def images(self, index: Index, rng: np.random.Generator | None = None) -> np.ndarray:
        positions = self._positions(index)
        counters = positions[:, None] * np.uint64(self.shape[0]) + np.arange(self.shape[0], dtype=np.uint64)
        direction = hash_normal(counters, self.seed)
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return (np.where(self.labels(index), self.radius, 1.0)[:, None] * direction).astype(np.float32)

    def _positions(self, index: Index) -> np.ndarray:
        return check_index(index, len(self)).astype(np.uint64)

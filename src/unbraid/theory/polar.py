"""Do two factors lie along two axes of the code, or as angle and radius around its middle (Zietlow et al., 2021)?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError
from unbraid.metrics import mig
from unbraid.training import Run

__all__ = ["Layout", "best_and_worst", "polar_score"]


@dataclass(frozen=True)
class Layout:
    """How two factors lie in the two latents that know most about them."""

    latents: tuple[int, int]
    """As the axes that suit the factors best: the first for the first factor."""
    cartesian: float
    """Information of one latent about the first factor plus that of the other about the second, 2 at most."""
    polar: float
    """The same for angle and radius."""
    middle: np.ndarray
    """Mean code of the two latents."""

    @property
    def score(self) -> float:
        """Polar less cartesian: positive if angle and radius tell more than the axes do."""
        return self.polar - self.cartesian


def polar_score(codes: ArrayLike, factors: ArrayLike, pair: tuple[int, int], *, bins: int = 20) -> Layout:
    """Compare both layouts of the factors ``pair``: the first as angle and the second as radius, or one per axis.

    The two latents with the largest summed information about the two factors are looked at. Information is in units of
    each factor's entropy, from counts in ``bins`` bins of equal width; radius and angle are around the mean code.

    >>> angle, radius = (part.ravel() for part in np.meshgrid(np.arange(-9, 10), np.arange(1, 5)))
    >>> turned = np.stack([radius * np.cos(angle / 3), radius * np.sin(angle / 3)], axis=1)
    >>> polar_score(turned, np.stack([angle, radius], axis=1), (0, 1)).score > 0
    True
    """
    values, given = np.asarray(codes, dtype=np.float64), np.asarray(factors)
    if values.ndim != 2 or values.shape[1] < 2 or len(values) != len(given):
        raise UsageError(f"codes must be [n, d] with two or more columns, got {values.shape} for {len(given)} factors")
    if pair[0] == pair[1] or not all(0 <= k < given.shape[1] for k in pair):
        raise UsageError(f"pair must be two different columns of the {given.shape[1]} factors, got {pair}")
    both = given[:, list(pair)]
    shares = _shares(values, both, bins)  # [d, 2]
    first, second = np.argsort(shares.sum(axis=1), kind="stable")[:-3:-1]
    straight, swapped = shares[first, 0] + shares[second, 1], shares[second, 0] + shares[first, 1]
    latents = (first, second) if straight >= swapped else (second, first)
    plane = values[:, list(latents)]
    middle = plane.mean(axis=0)
    x, y = (plane - middle).T
    around = _shares(np.stack([np.arctan2(y, x), np.hypot(x, y)], axis=1), both, bins)
    return Layout(
        (int(latents[0]), int(latents[1])),
        float(max(straight, swapped)),
        float(around[0, 0] + around[1, 1]),
        middle,
    )


def _shares(codes: np.ndarray, factors: np.ndarray, bins: int) -> np.ndarray:
    """Information ``[d, K]`` of each column about each factor, in units of the factor's entropy."""
    parts = mig(codes, factors, bins=bins).parts
    shares: np.ndarray = parts["information"] / parts["entropy"]
    return shares


def best_and_worst(runs: Sequence[Run], scores: Sequence[float], count: int = 4) -> tuple[list[int], list[int]]:
    """Positions of the runs with the highest and the lowest scores, best and worst first; no run is both."""
    if not 1 <= count <= len(runs) // 2:
        raise UsageError(f"count must lie in 1..{len(runs) // 2}, half of the {len(runs)} runs, got {count}")
    order = np.argsort(scores, kind="stable")
    return order[::-1][:count].tolist(), order[:count].tolist()

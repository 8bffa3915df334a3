"""What a representation throws away: which factor can change while the code does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbraid.data import Dataset
from unbraid.errors import UsageError

__all__ = ["IgnoredFactors", "ignored_factors"]


@dataclass(frozen=True)
class IgnoredFactors:
    """How far codes move when one factor changes alone, as a share of how far they move when all do."""

    names: tuple[str, ...]
    movement: np.ndarray
    """``[K]``: 0 where codes do not change with the factor at all."""
    error: np.ndarray
    """Standard errors over the samples, ``[K]``."""

    def ignored(self, below: float = 0.1) -> tuple[str, ...]:
        """Factors that move codes by less than this share."""
        return tuple(name for name, share in zip(self.names, self.movement, strict=True) if share < below)


def ignored_factors(encode: Any, data: Dataset, *, samples: int = 500, seed: int = 0) -> IgnoredFactors:
    """Change one factor of an image to another value, keep the others, and see how far its code moves.

    ``encode`` is a run that encodes, or a function from uint8 images to codes ``[n, d]``. Codes are standardised per
    dimension over the samples; dimensions that never change are left out.
    """
    space = data.space
    if space is None:
        raise UsageError(f"data set {data.name!r} has no grid of factors of which one could change alone")
    if samples < 2:
        raise UsageError(f"samples must be at least 2, got {samples}")
    rng = np.random.default_rng(seed)
    encoder: Callable[[np.ndarray], np.ndarray] = getattr(encode, "encode", encode)

    def codes(factors: np.ndarray) -> np.ndarray:
        return np.asarray(encoder(data.images(space.index(factors))), dtype=np.float64)

    factors, others = space.sample(samples, rng), space.sample(samples, rng)
    own = codes(factors)
    spread = own.std(axis=0)
    used = spread > 1e-9
    if not used.any():
        raise UsageError("codes are the same for all images: nothing is left to throw away")

    def moved(changed: np.ndarray) -> np.ndarray:
        return np.linalg.norm((codes(changed) - own)[:, used] / spread[used], axis=1)

    whole = moved(others).mean()
    shares, errors = [], []
    for k, size in enumerate(space.sizes):
        changed = factors.copy()
        # Another value for everybody: a step of 1 to size - 1, going round.
        changed[:, k] = (changed[:, k] + rng.integers(1, max(size, 2), size=samples)) % size
        steps = moved(changed) / whole
        shares.append(steps.mean())
        errors.append(steps.std(ddof=1) / np.sqrt(samples))
    return IgnoredFactors(tuple(space.names), np.array(shares), np.array(errors))

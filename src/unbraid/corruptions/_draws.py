"""Random numbers of one image: a pure function of seed, image, corruption and severity."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from unbraid.data import Purpose

__all__ = ["Draws", "draws_of", "each", "normals", "uniforms"]

Draws = Sequence[np.random.Generator]
"""One generator per image."""


def draws_of(seed: int, name: str, severity: int, indices: np.ndarray) -> list[np.random.Generator]:
    """The generator of each image.

    Philox counts in four words: the draws in the first, the image, the severity and the name of the corruption in the
    others, so that no two of them share a number and batches, shards and machines agree.
    """
    key = np.array([seed, Purpose.CORRUPTED], dtype=np.uint64)
    code = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")
    counters = np.zeros((len(indices), 4), dtype=np.uint64)
    counters[:, 1], counters[:, 2], counters[:, 3] = indices, severity, code
    return [np.random.Generator(np.random.Philox(key=key, counter=counter)) for counter in counters]


def each(draws: Draws, low: float, high: float) -> np.ndarray:
    """One uniform number per image, [n]."""
    return np.array([rng.uniform(low, high) for rng in draws])


def normals(draws: Draws, *shape: int) -> np.ndarray:
    """Standard normal numbers, float32 [n, *shape]."""
    out = np.empty((len(draws), *shape), np.float32)
    for rng, image in zip(draws, out, strict=True):
        rng.standard_normal(out=image, dtype=np.float32)
    return out


def uniforms(draws: Draws, *shape: int) -> np.ndarray:
    """Uniform numbers in [0,1), float32 [n, *shape]."""
    out = np.empty((len(draws), *shape), np.float32)
    for rng, image in zip(draws, out, strict=True):
        rng.random(out=image, dtype=np.float32)
    return out

"""Random numbers of one image: a pure function of seed, image, corruption and severity."""

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy.special import ndtri

from unbraid.data import Purpose

__all__ = ["Draws", "bits", "draws_of", "each", "normal_table", "normals", "uniforms"]

Draws = Sequence[np.random.Generator]
"""One generator per image."""


class _Drawn(Sequence[np.random.Generator]):
    """The generators, made when the first is asked for: what draws nothing does not wait for them."""

    def __init__(self, key: np.ndarray, counters: np.ndarray):
        self._key, self._counters = key, counters
        self._made: list[np.random.Generator] | None = None

    def __len__(self) -> int:
        return len(self._counters)

    def __getitem__(self, place: Any) -> Any:
        if self._made is None:
            pairs = (np.random.Philox(key=self._key, counter=counter) for counter in self._counters)
            self._made = [np.random.Generator(bit_generator) for bit_generator in pairs]
        return self._made[place]


def draws_of(seed: int, name: str, severity: int, indices: np.ndarray, again: int = 0) -> Draws:
    """The generator of each image; ``again`` is how often the same step was done to it before.

    Philox counts in four words: the draws in the first, the image, the severity and the name of the corruption in the
    others, so that no two of them share a number and batches, shards and machines agree.
    """
    key = np.array([seed, Purpose.CORRUPTED], dtype=np.uint64)
    code = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")
    counters = np.zeros((len(indices), 4), dtype=np.uint64)
    counters[:, 1], counters[:, 2], counters[:, 3] = indices, severity + (again << 32), code
    return _Drawn(key, counters)


def each(draws: Draws, low: float, high: float) -> np.ndarray:
    """One uniform number per image, [n]."""
    return np.array([rng.uniform(low, high) for rng in draws])


def bits(draws: Draws, *shape: int) -> np.ndarray:
    """Sixteen random bits for each number of each image, uint16 [n, *shape].

    A byte of an image shows no more than that, and they cost a tenth of a normal number.
    """
    size = int(np.prod(shape))
    words = -(-size // 4)
    out = np.empty((len(draws), 4 * words), np.dtype("<u2"))
    for rng, row in zip(draws, out, strict=True):
        row[:] = rng.bit_generator.random_raw(words).astype("<u8", copy=False).view("<u2")
    return out[:, :size].reshape(len(draws), *shape)


@cache
def normal_table() -> np.ndarray:
    """The normal number of each 16 bits, float32: quantiles at the middles of 65,536 equal shares, up to 4.3."""
    return ndtri((np.arange(65536) + 0.5) / 65536).astype(np.float32)


def normals(draws: Draws, *shape: int) -> np.ndarray:
    """Standard normal numbers of 16 bits, float32 [n, *shape]."""
    return normal_table()[bits(draws, *shape)]


def uniforms(draws: Draws, *shape: int) -> np.ndarray:
    """Uniform numbers of 16 bits in (0,1), float32 [n, *shape]."""
    return (bits(draws, *shape) + np.float32(0.5)) * np.float32(1 / 65536)

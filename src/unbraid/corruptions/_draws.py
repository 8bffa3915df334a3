"""Random numbers of one image: a pure function of seed, image, corruption and severity."""

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy.special import ndtri

from unbraid.compiled import compiled
from unbraid.data import Purpose, hash_bits

__all__ = ["Draws", "bits", "draws_of", "each", "integers", "normal_table", "normals", "uniforms"]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class Draws(Sequence[np.random.Generator]):
    """One generator per image; and one stream of hashed numbers each, of which millions cost as little as a copy.

    The generators are made when the first is asked for: what draws nothing, or by the functions of this module alone,
    does not wait for them.
    """

    def __init__(self, key: np.ndarray, counters: np.ndarray, keys: np.ndarray):
        self._key, self._counters, self._keys = key, counters, keys
        self._made: list[np.random.Generator] | None = None
        self._taken = 0

    def __len__(self) -> int:
        return len(self._counters)

    def __getitem__(self, place: Any) -> Any:
        if self._made is None:
            pairs = (np.random.Philox(key=self._key, counter=counter) for counter in self._counters)
            self._made = [np.random.Generator(bit_generator) for bit_generator in pairs]
        return self._made[place]

    def words(self, count: int) -> np.ndarray:
        """The next ``count`` words of 64 bits of each image's stream, uint64 [n, count]."""
        out = np.empty((len(self), count), np.uint64)
        _fill(self._keys + np.array([self._taken], np.uint64) * _STEP, out)
        self._taken += count
        return out


def draws_of(seed: int, name: str, severity: int, indices: np.ndarray, again: int = 0) -> Draws:
    """What is drawn for each image; ``again`` is how often the same step was done to it before.

    Philox counts in four words: the draws in the first, the image, the severity and the name of the corruption in the
    others, so that no two of them share a number and batches, shards and machines agree. The stream of hashed numbers
    begins at a hash of the same.
    """
    code = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")
    key = np.array([seed, Purpose.CORRUPTED], dtype=np.uint64)
    counters = np.zeros((len(indices), 4), dtype=np.uint64)
    counters[:, 1], counters[:, 2], counters[:, 3] = indices, severity + (again << 32), code
    begin = hash_bits(counters[:, 1], [seed, int(Purpose.CORRUPTED), severity, again, code])
    return Draws(key, counters, begin)


@compiled
def _fill(keys: np.ndarray, out: np.ndarray) -> None:
    """The generator splitmix64 (Steele et al., 2014): word i is a hash of the key plus i + 1 steps."""
    for n in range(len(keys)):
        key, row = keys[n], out[n]
        for i in range(len(row)):
            word = key + np.uint64(i + 1) * _STEP
            word = (word ^ (word >> np.uint64(30))) * _FIRST
            word = (word ^ (word >> np.uint64(27))) * _SECOND
            row[i] = word ^ (word >> np.uint64(31))


def each(draws: Draws, low: float, high: float) -> np.ndarray:
    """One uniform number per image, float64 [n]."""
    return low + (high - low) * (draws.words(1)[:, 0] >> np.uint64(11)) / 2.0**53


def bits(draws: Draws, *shape: int) -> np.ndarray:
    """Sixteen random bits for each number of each image, uint16 [n, *shape]: a byte of an image shows no more."""
    size = int(np.prod(shape))
    found = draws.words(-(-size // 4)).astype("<u8", copy=False).view("<u2")
    return np.ascontiguousarray(found[:, :size]).reshape(len(draws), *shape)


def integers(draws: Draws, low: int, high: int, *shape: int) -> np.ndarray:
    """Whole numbers from ``low`` to ``high - 1``, int64 [n, *shape]; of hundreds of values all are equally likely."""
    return low + (bits(draws, *shape).astype(np.int64) * (high - low) >> 16)


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

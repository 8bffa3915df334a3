"""A random order of any number of things in which every one can be asked for, without a list of them."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt

import numpy as np

__all__ = ["Permutation", "Window"]

ROUNDS = 8


class Permutation:
    """A permutation of 0..count-1 that follows from the seed (a Feistel network; Luby and Rackoff, 1988).

    A number is two digits to the base of the root. Each round adds to one digit a random number that belongs to the
    other, which can be undone; the few results beyond ``count`` are permuted on until they fall below it (Black and
    Rogaway, 2002).

    >>> order = Permutation(10, seed=0)
    >>> sorted(order(np.arange(10)).tolist()) == list(range(10))
    True
    >>> order.inverse(order(np.arange(10))).tolist() == list(range(10))
    True
    """

    def __init__(self, count: int, seed: int) -> None:
        self.count, self.base = count, isqrt(count - 1) + 1
        self._keys = np.random.SeedSequence(seed).generate_state(ROUNDS, np.uint64)

    def __call__(self, positions: np.ndarray) -> np.ndarray:
        return self._walk(positions, self._forth)

    def inverse(self, index: np.ndarray) -> np.ndarray:
        """The positions that lead to these numbers."""
        return self._walk(index, self._back)

    def _walk(self, numbers: np.ndarray, once: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        found = once(numbers)
        while (beyond := found >= self.count).any():
            found[beyond] = once(found[beyond])
        return found

    def _forth(self, numbers: np.ndarray) -> np.ndarray:
        high, low = np.divmod(numbers, self.base)
        for key in self._keys:
            high, low = low, (high + self._mixed(low, key)) % self.base
        return high * self.base + low

    def _back(self, numbers: np.ndarray) -> np.ndarray:
        high, low = np.divmod(numbers, self.base)
        for key in self._keys[::-1]:
            high, low = (low - self._mixed(high, key)) % self.base, high
        return high * self.base + low

    def _mixed(self, digit: np.ndarray, key: np.uint64) -> np.ndarray:
        """A number below the base that belongs to this digit and this round (splitmix64; Steele et al., 2014)."""
        bits = digit.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + key
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return ((bits ^ (bits >> np.uint64(31))) % np.uint64(self.base)).astype(np.int64)


class Window:
    """The things from one place of a random order up to another."""

    def __init__(self, order: Permutation, start: int, stop: int) -> None:
        self.order, self.start, self.stop = order, start, stop

    def __len__(self) -> int:
        return self.stop - self.start

    def __getitem__(self, positions: np.ndarray, /) -> np.ndarray:
        return self.order(positions + self.start)

    def find(self, index: np.ndarray) -> np.ndarray:
        places = self.order.inverse(index)
        return np.where((places >= self.start) & (places < self.stop), places - self.start, -1)

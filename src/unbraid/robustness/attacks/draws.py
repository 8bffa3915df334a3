"""Random numbers of each image, its own: whatever else is in a batch, and whoever leaves it, an image gets the same."""

from __future__ import annotations

from hashlib import blake2b
from math import prod

import numpy as np
import torch
from torch import Tensor

__all__ = ["Draws"]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


class Draws:
    """A stream of random numbers per image. ``draws[rows]`` are those of some images: they go on where they were.

    Number k of an image is a hash of its key and k (splitmix64; Steele et al., 2014), so that the streams of a batch
    are drawn at once and none depends on another.
    """

    def __init__(self, keys: np.ndarray, used: np.ndarray, rows: np.ndarray, like: Tensor) -> None:
        self._keys, self._used, self._rows, self._like = keys, used, rows, like[:0]

    @classmethod
    def of(cls, images: Tensor, seed: int) -> Draws:
        """Streams that depend on the seed and on what an image looks like, not on where it stands."""
        pixels = images.detach().to("cpu", torch.float32).contiguous().numpy()
        salt = int(seed).to_bytes(16, "little", signed=True)
        keys = [blake2b(image.tobytes(), digest_size=8, key=salt).digest() for image in pixels]
        return cls._new(np.frombuffer(b"".join(keys), "<u8").astype(np.uint64), images)

    @classmethod
    def _new(cls, keys: np.ndarray, like: Tensor) -> Draws:
        return cls(keys, np.zeros(len(keys), np.uint64), np.arange(len(keys)), like)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, rows: Tensor) -> Draws:
        return Draws(self._keys, self._used, self._rows[rows.cpu().numpy()], self._like)

    def branch(self, times: int) -> Draws:
        """New streams for a batch in which every image stands ``times`` times in a row."""
        return Draws._new(self._bits(times).reshape(-1), self._like)

    def normal(self, *shape: int) -> Tensor:
        """Standard normal numbers ``[n, *shape]`` (Box and Muller, 1958)."""
        size = prod(shape)
        drawn = self._numbers(2 * size)
        radius = np.sqrt(-2 * np.log1p(-drawn[:, :size]))
        return self._tensor(radius * np.cos(2 * np.pi * drawn[:, size:]), shape)

    def uniform(self, *shape: int) -> Tensor:
        """Numbers from 0, less than 1: ``[n, *shape]``."""
        return self._tensor(self._numbers(prod(shape)), shape)

    def signs(self, *shape: int) -> Tensor:
        """-1 or 1, ``[n, *shape]``."""
        return self._tensor(np.where(self._numbers(prod(shape)) < 0.5, -1.0, 1.0), shape)

    def below(self, most: int, *shape: int) -> Tensor:
        """Whole numbers from 0, less than ``most``: ``[n, *shape]``."""
        drawn = (self._numbers(prod(shape)) * most).astype(np.int64)
        return torch.from_numpy(drawn.reshape(len(self), *shape)).to(self._like.device)

    def _tensor(self, numbers: np.ndarray, shape: tuple[int, ...]) -> Tensor:
        return torch.from_numpy(numbers.reshape(len(self), *shape)).to(self._like)

    def _numbers(self, size: int) -> np.ndarray:
        """Float64 ``[n, size]`` from 0, less than 1 in float32, too."""
        return (self._bits(size) >> np.uint64(40)) * 2.0**-24

    def _bits(self, size: int) -> np.ndarray:
        """Uint64 ``[n, size]``: the next ones of each stream."""
        first = self._used[self._rows]
        self._used[self._rows] = first + np.uint64(size)
        state = (first[:, None] + np.arange(1, size + 1, dtype=np.uint64)) * GOLDEN + self._keys[self._rows][:, None]
        for shift, factor in MIX:
            state = (state ^ (state >> np.uint64(shift))) * np.uint64(factor)
        found: np.ndarray = state ^ (state >> np.uint64(31))
        return found

"""Batches of data that are held in memory as tensors."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from unbraid.data import Batch, counter_rng

__all__ = ["MemoryStream"]

BLOCK = 256
"""Steps whose images are drawn together: a generator for each would take as long as a small network's pass."""


class MemoryStream:
    """Independent draws from images ``[n, c, h, w]``, and from partners if there are any; all of them for size 0.

    As for every stream, a batch follows from the seed and the step alone.
    """

    def __init__(self, images: Tensor, batch_size: int, seed: int, partners: Tensor | None = None) -> None:
        self.images, self.partners, self.batch_size, self.seed = images, partners, batch_size, seed
        self._block, self._drawn = -1, torch.zeros(0, 0, dtype=torch.int64)

    def __call__(self, step: int) -> Batch:
        if not self.batch_size:
            return Batch(self.images, partners=self.partners)  # type: ignore[arg-type]
        block, place = divmod(step, BLOCK)
        if block != self._block:
            size = (BLOCK, self.batch_size)
            drawn = counter_rng(self.seed, block).integers(len(self.images), size=size, dtype=np.int64)
            self._block, self._drawn = block, torch.from_numpy(drawn)
        index = self._drawn[place]
        partners = None if self.partners is None else self.partners[index]
        return Batch(self.images[index], partners=partners)  # type: ignore[arg-type]

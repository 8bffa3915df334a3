"""Random numbers of each image, its own: whatever else is in a batch, and whoever leaves it, an image gets the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b

import torch
from torch import Tensor

__all__ = ["Draws"]


class Draws:
    """One generator per image. ``draws[rows]`` are those of some images, not copies: they go on where they were."""

    def __init__(self, generators: Sequence[torch.Generator], like: Tensor) -> None:
        self._generators, self._like = list(generators), like[:0]

    @classmethod
    def of(cls, images: Tensor, seed: int) -> Draws:
        """Generators that depend on the seed and on what an image looks like, not on where it stands."""
        pixels = images.detach().to("cpu", torch.float32).contiguous().numpy()
        salt = int(seed).to_bytes(16, "little", signed=True)
        keys = (blake2b(image.tobytes(), digest_size=7, key=salt).digest() for image in pixels)
        return cls([_generator(int.from_bytes(key, "little")) for key in keys], images)

    def __len__(self) -> int:
        return len(self._generators)

    def __getitem__(self, rows: Tensor) -> Draws:
        return Draws([self._generators[row] for row in rows.tolist()], self._like)

    def branch(self, times: int) -> Draws:
        """New generators for a batch in which every image stands ``times`` times in a row."""
        seeds = [torch.randint(2**56, (times,), generator=generator).tolist() for generator in self._generators]
        return Draws([_generator(seed) for row in seeds for seed in row], self._like)

    def normal(self, *shape: int) -> Tensor:
        """Standard normal numbers ``[n, *shape]``."""
        return self._drawn(lambda generator: torch.randn(shape, generator=generator))

    def uniform(self, *shape: int) -> Tensor:
        """Numbers between 0 and 1, ``[n, *shape]``."""
        return self._drawn(lambda generator: torch.rand(shape, generator=generator))

    def signs(self, *shape: int) -> Tensor:
        """-1 or 1, ``[n, *shape]``."""
        return (self.uniform(*shape) < 0.5).to(self._like.dtype) * 2 - 1

    def below(self, most: int, *shape: int) -> Tensor:
        """Whole numbers from 0, less than ``most``: ``[n, *shape]``."""
        return (self.uniform(*shape).double() * most).long().clamp_max(most - 1)

    def _drawn(self, draw: Callable[[torch.Generator], Tensor]) -> Tensor:
        if not self._generators:
            return self._like.new_zeros(0)
        return torch.stack([draw(generator) for generator in self._generators]).to(self._like)


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)

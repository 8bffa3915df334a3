"""The data of a task: what another process needs to find the same images, whole or in part."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from unbraid.data import FactorDataset, ImageDataset, load
from unbraid.errors import UsageError

__all__ = ["Part", "Source", "factors_of"]


class Part(ImageDataset):
    """Some images of a data set, in any number and order; without a grid of factors of its own."""

    def __init__(self, base: ImageDataset, indices: np.ndarray | Sequence[int]) -> None:
        self.base, self.indices = base, np.asarray(indices, dtype=np.int64)
        if self.indices.ndim != 1 or not self.indices.size:
            raise UsageError(f"indices must be a list of positions, got shape {self.indices.shape}")
        if self.indices.min() < 0 or self.indices.max() >= len(base):
            raise UsageError(f"indices must lie in 0..{len(base) - 1}")
        self.name, self.shape, self.card = f"{len(self.indices)} images of {base.name}", base.shape, base.card

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def stochastic(self) -> bool:
        return self.base.stochastic

    def images(self, index: np.ndarray | Sequence[int], rng: np.random.Generator | None = None) -> np.ndarray:
        return self.base.images(self.indices[np.asarray(index, dtype=np.int64)], rng)


def factors_of(data: ImageDataset, index: np.ndarray) -> np.ndarray:
    """The true factors ``[n, K]`` of images by position, also in a part of a data set."""
    if isinstance(data, Part):
        return factors_of(data.base, data.indices[index])
    if isinstance(data, FactorDataset):
        return data.space.factors(index)
    raise UsageError(f"{data.name!r} has no factors; a score without labels is 'udr'")


@dataclass(frozen=True)
class Source:
    """A data set as a task carries it: by its recipe where it has one, and held in memory otherwise."""

    name: str | None
    options: tuple[tuple[str, Any], ...] = ()
    held: ImageDataset | None = None
    indices: np.ndarray | None = None

    @classmethod
    def of(cls, data: ImageDataset) -> Source:
        """The source of a data set or of a :class:`Part` of one."""
        base, indices = (data.base, data.indices) if isinstance(data, Part) else (data, None)
        if isinstance(base, Part):
            return cls.of(Part(base.base, base.indices[indices]))
        if base.recipe is None:
            return cls(None, held=base, indices=indices)
        return cls(base.recipe.name, tuple(sorted(base.recipe.options.items())), indices=indices)

    def load(self) -> ImageDataset:
        """The data set; a process that carries out many tasks loads it once."""
        base = self.held if self.name is None else _load(self.name, _Options(self.options))
        assert base is not None
        return base if self.indices is None else Part(base, self.indices)

    def fingerprint(self) -> str:
        """Which part of the data set this is; equal for equal parts."""
        return "whole" if self.indices is None else hashlib.sha256(self.indices.tobytes()).hexdigest()[:16]


class _Options:
    """Options as a key of the cache; they may hold lists and slices, which have no hash."""

    def __init__(self, options: tuple[tuple[str, Any], ...]) -> None:
        self.options = dict(options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Options) and other.options == self.options

    def __hash__(self) -> int:
        return hash(repr(self.options))


@lru_cache(maxsize=4)
def _load(name: str, options: _Options) -> ImageDataset:
    return load(name, **options.options)

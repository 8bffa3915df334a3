"""The data of a task: what another process needs to find the same images, whole or in part."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from unbraid.data import Dataset, load

__all__ = ["Source"]


@dataclass(frozen=True)
class Source:
    """A data set as a task carries it: by its recipe where it has one, and held in memory otherwise."""

    name: str | None
    options: tuple[tuple[str, Any], ...] = ()
    held: Dataset | None = None
    indices: np.ndarray | None = None

    @classmethod
    def of(cls, data: Dataset) -> Source:
        """The source of a data set or of a part of one."""
        base, indices = data.in_whole()
        if base.recipe is None:
            return cls(None, held=base, indices=indices)
        return cls(base.recipe.name, tuple(sorted(base.recipe.options.items())), indices=indices)

    def load(self) -> Dataset:
        """The data set; a process that carries out many tasks loads it once."""
        base = self.held if self.name is None else _load(self.name, _Options(self.options))
        assert base is not None
        return base if self.indices is None else base.part(self.indices)

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
def _load(name: str, options: _Options) -> Dataset:
    return load(name, **options.options)

"""The grid of factor values behind a data set."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

import numpy as np

from unbraid.errors import UsageError, unknown_name

__all__ = ["Choice", "FactorSpace", "Kind", "SubSpace", "check_index"]

Kind = Literal["ordinal", "categorical", "periodic"]
Choice = int | slice | Sequence[int]


@dataclass(frozen=True)
class FactorSpace:
    """Names, sizes and kinds of the factors; every combination of their values is one point, the last factor fastest.

    A space without factors, all of them fixed, has one point.

    >>> space = FactorSpace(("shape", "x"), (3, 4), ("categorical", "ordinal"))
    >>> space.index([[2, 1]]), space.factors([9])
    (array([9]), array([[2, 1]]))
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    kinds: tuple[Kind, ...]

    def __post_init__(self) -> None:
        if not len(self.names) == len(self.sizes) == len(self.kinds):
            raise UsageError(
                f"names, sizes and kinds differ in length: {len(self.names)}, {len(self.sizes)}, {len(self.kinds)}"
            )
        if len(set(self.names)) != len(self.names):
            raise UsageError(f"factor names repeat: {self.names}")
        for name, size, kind in zip(self.names, self.sizes, self.kinds, strict=True):
            if size < 1:
                raise UsageError(f"factor {name!r} has size {size}; a factor needs at least one value")
            if kind not in ("ordinal", "categorical", "periodic"):
                raise unknown_name("kind of factor", kind, ("ordinal", "categorical", "periodic"))

    def __len__(self) -> int:
        """The number of factor combinations."""
        return prod(self.sizes)

    def index(self, factors: np.ndarray | Sequence) -> np.ndarray:
        """Position of each row of factor values: int64 ``[n]`` from integers ``[n, K]``."""
        rows = np.asarray(factors)
        if rows.ndim != 2 or rows.shape[1] != len(self.sizes):
            raise UsageError(f"factors must be [n, {len(self.sizes)}] ({', '.join(self.names)}), got {rows.shape}")
        if rows.size and not np.issubdtype(rows.dtype, np.integer):
            raise UsageError(f"factors must be integers, got {rows.dtype}")
        if (rows < 0).any() or (rows >= self.sizes).any():
            bad = int(((rows < 0) | (rows >= self.sizes)).any(axis=0).argmax())
            raise UsageError(f"factor {self.names[bad]!r} takes 0..{self.sizes[bad] - 1}, got values outside")
        return rows.astype(np.int64) @ self._strides()

    def factors(self, index: np.ndarray | Sequence[int]) -> np.ndarray:
        """Factor values of each position: int64 ``[n, K]`` from integers ``[n]``; the inverse of :meth:`index`."""
        positions = check_index(index, len(self))
        if positions.ndim != 1:
            raise UsageError(f"index must be one-dimensional, got shape {positions.shape}")
        return positions[:, None] // self._strides() % np.array(self.sizes, dtype=np.int64)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """``n`` rows of factor values, independent and uniform: int64 ``[n, K]``."""
        return rng.integers(0, self.sizes, size=(n, len(self.sizes)))

    def select(self, **choices: Choice) -> "SubSpace":
        """The sub-space where factors take only the chosen values; an integer fixes a factor and removes it.

        >>> space = FactorSpace(("shape", "x"), (3, 4), ("categorical", "ordinal"))
        >>> space.select(shape=1, x=slice(None, None, 2)).sizes
        (2,)
        """
        for name in choices:
            if name not in self.names:
                raise unknown_name("factor", name, self.names)
        kept: list[int] = []
        values: list[tuple[int, ...]] = []
        for position, (name, size) in enumerate(zip(self.names, self.sizes, strict=True)):
            choice = choices.get(name, slice(None))
            if isinstance(choice, int | np.integer):
                picked: tuple[int, ...] = (int(choice),)
            else:
                picked = _picked(choice, size)
                kept.append(position)
            if not picked or min(picked) < 0 or max(picked) >= size or len(set(picked)) != len(picked):
                raise UsageError(f"{name}={choice!r} must pick distinct values of 0..{size - 1}")
            values.append(picked)
        return SubSpace(
            tuple(self.names[k] for k in kept),
            tuple(len(values[k]) for k in kept),
            tuple(self._kind_of(k, len(values[k])) for k in kept),
            parent=self,
            values=tuple(values),
            kept=tuple(kept),
        )

    def _kind_of(self, position: int, chosen: int) -> Kind:
        kind = self.kinds[position]
        return "ordinal" if kind == "periodic" and chosen < self.sizes[position] else kind

    def _strides(self) -> np.ndarray:
        return np.array([prod(self.sizes[k + 1 :]) for k in range(len(self.sizes))], dtype=np.int64)


def check_index(index: np.ndarray | Sequence[int], count: int) -> np.ndarray:
    """Positions as int64; refused unless they are those of ``count`` images, which -1 is not."""
    positions = np.asarray(index, dtype=np.int64)
    if positions.size and (positions.min() < 0 or positions.max() >= count):
        raise UsageError(f"index must lie in 0..{count - 1}, got {positions.min()}..{positions.max()}")
    return positions


def _picked(choice: slice | Sequence[int], size: int) -> tuple[int, ...]:
    """The values a slice or list names; none if it is neither."""
    if isinstance(choice, slice):
        return () if choice.step == 0 else tuple(range(size)[choice])
    return () if isinstance(choice, str | float) else tuple(int(value) for value in choice)


@dataclass(frozen=True)
class SubSpace(FactorSpace):
    """A part of another space: some factors fixed, others thinned out. Made by :meth:`FactorSpace.select`."""

    parent: FactorSpace
    values: tuple[tuple[int, ...], ...]
    """For every factor of the parent, the values it may take."""
    kept: tuple[int, ...]
    """Positions of this space's factors among the parent's."""

    def to_parent(self, index: np.ndarray | Sequence[int]) -> np.ndarray:
        """Positions in the parent of positions in this space."""
        own = self.factors(index)
        rows = np.empty((len(own), len(self.parent.sizes)), dtype=np.int64)
        rows[:] = [picked[0] for picked in self.values]
        for column, position in enumerate(self.kept):
            rows[:, position] = np.array(self.values[position])[own[:, column]]
        return self.parent.index(rows)

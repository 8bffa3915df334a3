"""Some images of a data set, as a data set: with the factors, classes and pairs they have in the whole."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from unbraid.data.accepted import accepted
from unbraid.data.dataset import Dataset, Index, Law, Recipe
from unbraid.data.space import FactorSpace, Kind, check_index
from unbraid.errors import UsageError
from unbraid.files import replace_file
from unbraid.paths import user_path
from unbraid.reading import read_npy

__all__ = ["Composed", "Indices", "Listed", "Part", "Strided", "read_indices"]


@runtime_checkable
class Indices(Protocol):
    """Which images of a data set make a part; a rule may compute them when asked instead of listing them all."""

    def __len__(self) -> int: ...

    def __getitem__(self, positions: np.ndarray, /) -> np.ndarray:
        """The positions in the whole of positions in the part."""

    def find(self, index: np.ndarray) -> np.ndarray:
        """The positions in the part of positions in the whole; -1 for those that are not in it."""


class Listed:
    """A list of positions; one that comes twice is found where it comes first."""

    def __init__(self, array: Index) -> None:
        found = np.asarray(array)
        if found.ndim != 1 or not (found.size and np.issubdtype(found.dtype, np.integer)):
            raise UsageError(f"the index of a part must be integers [n], got {found.dtype} of shape {found.shape}")
        self.array = found.astype(np.int64)
        self._order: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, positions: np.ndarray, /) -> np.ndarray:
        found: np.ndarray = self.array[positions]
        return found

    def find(self, index: np.ndarray) -> np.ndarray:
        if self._order is None:
            self._order = np.argsort(self.array, kind="stable")
        places = np.searchsorted(self.array, index, sorter=self._order).clip(max=len(self) - 1)
        found = self._order[places]
        return np.where(self.array[found] == index, found, -1)


class Strided:
    """Every n-th position, without a list of them."""

    def __init__(self, chosen: range) -> None:
        if not len(chosen):
            raise UsageError(f"the index of a part must choose at least one image, got {chosen}")
        self.range = chosen

    def __len__(self) -> int:
        return len(self.range)

    def __getitem__(self, positions: np.ndarray, /) -> np.ndarray:
        return self.range.start + self.range.step * positions

    def find(self, index: np.ndarray) -> np.ndarray:
        places, off = np.divmod(index - self.range.start, self.range.step)
        return np.where((off == 0) & (places >= 0) & (places < len(self)), places, -1)


class Composed:
    """A part of a part."""

    def __init__(self, outer: Indices, inner: Indices) -> None:
        self.outer, self.inner = outer, inner

    def __len__(self) -> int:
        return len(self.inner)

    def __getitem__(self, positions: np.ndarray, /) -> np.ndarray:
        return self.outer[self.inner[positions]]

    def find(self, index: np.ndarray) -> np.ndarray:
        within = self.outer.find(index)
        return np.where(within < 0, -1, self.inner.find(within))


class Part(Dataset):
    """Some images of a data set, in any order and number; a part of a part is one of the whole.

    ``index`` is a list of positions, a slice, or an object with a length that gives positions when asked
    (:class:`Indices`), so that a rule need not list what it chooses. Images keep their factors and classes; pairs are
    those of the whole whose two images both lie in the part. It is no grid any more, so ``space`` is ``None``.

    >>> from unbraid.data import MiniSprites
    >>> some = MiniSprites().part(slice(None, None, 100))
    >>> len(some), some.factors([1])
    (8, array([[0, 1, 4, 4]]))
    """

    def __init__(self, base: Dataset, index: Index | slice | Indices) -> None:
        base.need_uniform()
        indices, side = _indices(index, len(base)), base.side
        self.within: Part | None = None
        """The side of a split that it is a part of."""
        if isinstance(base, Part):
            self.within = base.within or (base if side is not None else None)
            indices, base = _composed(base.indices, indices), base.base
        self.base: Dataset = base
        self.indices: Indices = indices
        self.shape, self.card, self.classes = base.shape, base.card, base.classes
        self.has_transitions = base.has_transitions
        self.side = side
        self.name = f"{base.name}-part-{len(indices)}"
        self.recipe = _recipe(base, indices)

    def __len__(self) -> int:
        return len(self.indices)

    def to_base(self, index: Index | None = None) -> np.ndarray:
        """Positions in the whole of positions in the part, or of all of it."""
        return self.indices[np.arange(len(self)) if index is None else check_index(index, len(self))]

    def in_whole(self) -> tuple[Dataset, np.ndarray | None]:
        return self.base, self.to_base()

    def origin(self, index: Index) -> np.ndarray:
        return self.base.origin(self.to_base(index))

    def save(self, path: str | Path) -> Part:
        """Write the positions to an npy file and name it in the recipe, so that runs on this part can be opened."""
        whole, positions = self._to_write()
        if whole.recipe is None:
            raise UsageError(
                f"{whole.name!r} itself lives in memory only, so that its part could not be loaded again: "
                "write it first, unbraid.data.save(data, 'mine.npz')"
            )
        path = user_path(path, "part").absolute()
        if path.suffix != ".npy":
            raise UsageError(f"path must end in .npy, got {path}")
        with replace_file(path) as temporary, temporary.open("wb") as file:
            np.save(file, positions)
        self.recipe = Recipe(whole.recipe.name, {**whole.recipe.options, "part": str(path)})
        return self

    def _to_write(self) -> tuple[Dataset, np.ndarray]:
        """What has a name, and the positions in it: the side of a split rather than the whole, so that it is known."""
        if self.within is not None and self.within.recipe is not None:
            return self.within, self.within.indices.find(self.to_base())
        return self.base, self.to_base()

    @property
    def stochastic(self) -> bool:
        return self.base.stochastic

    def images(self, index: Index, rng: np.random.Generator | None = None) -> np.ndarray:
        return self.base.images(self.to_base(index), rng)

    @property
    def factor_names(self) -> tuple[str, ...]:
        return self.base.factor_names

    @property
    def factor_sizes(self) -> tuple[int, ...] | None:
        return self.base.factor_sizes

    @property
    def factor_kinds(self) -> tuple[Kind, ...]:
        return self.base.factor_kinds

    def factors(self, index: Index) -> np.ndarray:
        return self.base.factors(self.to_base(index))

    def labels(self, index: Index | None = None) -> np.ndarray:
        return self.base.labels(self.to_base(index))

    def draw_pairs(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        def propose(count: int) -> np.ndarray:
            return self.indices.find(np.stack(self.base.draw_pairs(count, rng), axis=1))

        first, second = accepted(propose, n, self.name).T
        return first, second

    def draw_chains(self, n: int, length: int, rng: np.random.Generator) -> np.ndarray:
        def propose(count: int) -> np.ndarray:
            return self.indices.find(self.base.draw_chains(count, length, rng))

        return accepted(propose, n, self.name)

    @property
    def longest_chain(self) -> int | None:
        return self.base.longest_chain

    def pairs_at(
        self, first: np.ndarray, second: np.ndarray, rng: np.random.Generator | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        return self.base.pairs_at(self.to_base(first), self.to_base(second), rng)

    @property
    def grid(self) -> FactorSpace | None:
        return self.base.grid

    def follow(self, law: Law, index: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        reached = self.base.follow(law, self.to_base(index), rng)
        return np.where(reached < 0, -1, self.indices.find(reached))


def read_indices(path: str | Path) -> np.ndarray:
    """The integer array of an npy file."""
    try:
        return read_npy(user_path(path, "part"), remedy="part.save(path) writes such files")
    except UsageError as error:
        raise UsageError(f"part={path}: no npy file of positions can be read there: {error}") from error


def _indices(index: Index | slice | Indices, count: int) -> Indices:
    if isinstance(index, slice):
        if index.step == 0:
            raise UsageError("the step of a part must not be 0, got ::0; ::7 takes every seventh image")
        return Strided(range(count)[index])
    if isinstance(index, Indices):
        return index
    listed = Listed(index)
    low, high = listed.array.min(), listed.array.max()
    if low < 0 or high >= count:
        raise UsageError(f"the index of a part must lie in 0..{count - 1}, got {low}..{high}")
    return listed


def _composed(outer: Indices, inner: Indices) -> Indices:
    if isinstance(inner, Listed):
        return Listed(outer[inner.array])
    if isinstance(outer, Strided) and isinstance(inner, Strided):
        return Strided(outer.range[inner.range.start : _stop(inner.range) : inner.range.step])
    return Composed(outer, inner)


def _stop(chosen: range) -> int | None:
    """The stop of a slice that means this range; a range that goes down ends at -1, which a slice takes otherwise."""
    return chosen.stop if chosen.stop >= 0 else None


def _recipe(base: Dataset, indices: Indices) -> Recipe | None:
    if base.recipe is None or not isinstance(indices, Strided):
        return None
    chosen = indices.range
    written = f"{chosen.start}:{'' if _stop(chosen) is None else chosen.stop}:{chosen.step}"
    return Recipe(base.recipe.name, {**base.recipe.options, "part": written})

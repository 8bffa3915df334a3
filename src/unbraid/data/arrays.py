"""Data sets over images that are held already: an array, a memory map or an image store."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from unbraid.data.dataset import Card, FactorDataset, ImageDataset, Index, LabelledDataset, Shape
from unbraid.data.grid import FactorTable
from unbraid.data.space import FactorSpace, Kind, check_index
from unbraid.errors import UsageError

__all__ = ["ArrayFactors", "ArrayImages", "ArrayLabels", "ArrayTable", "Held", "HeldArray"]


class Held(Protocol):
    """Images of one shape by position; :class:`unbraid.data.files.store.ImageStore` is one too."""

    shape: Shape

    def __len__(self) -> int: ...

    def images(self, index: np.ndarray | Sequence[int]) -> np.ndarray: ...


class HeldArray:
    """A uint8 array (or memory map) ``[n, h, w]`` or ``[n, h, w, c]``, read in another order where ``order`` is given.

    Bits (``bool``, or bytes 0 and 1 with ``binary``) come out as 0 and 255.
    """

    def __init__(self, pixels: np.ndarray, *, order: np.ndarray | None = None, binary: bool = False) -> None:
        # A plain array over the same memory: indexing a np.memmap is several times slower.
        self._pixels, self._order, self._binary = np.asarray(pixels), order, binary or pixels.dtype == np.bool_
        height, width, *channels = pixels.shape[1:]
        self.shape: Shape = (height, width, channels[0] if channels else 1)

    def __len__(self) -> int:
        return len(self._pixels)

    def images(self, index: np.ndarray | Sequence[int]) -> np.ndarray:
        """The images at these positions, uint8 ``[n, h, w, c]``."""
        positions = check_index(index, len(self))
        if positions.ndim != 1:
            raise UsageError(f"index must be one-dimensional, got shape {positions.shape}")
        rows = self._pixels[positions if self._order is None else self._order[positions]]
        rows = rows.reshape(len(positions), *self.shape)
        return rows.astype(np.uint8) * np.uint8(255) if self._binary else rows


class _OverHeld(ImageDataset):
    held: Held

    def images(self, index: np.ndarray | Sequence[int], rng: np.random.Generator | None = None) -> np.ndarray:
        return self.held.images(index)


class ArrayImages(_OverHeld):
    """Images and nothing else."""

    def __init__(self, held: Held, *, name: str = "own", card: Card | None = None) -> None:
        self.held, self.shape, self.name = held, held.shape, name
        self.card = card or Card(name)

    def __len__(self) -> int:
        return len(self.held)


class ArrayLabels(_OverHeld, LabelledDataset):
    """Images with a class each."""

    def __init__(
        self,
        held: Held,
        labels: np.ndarray,
        classes: Sequence[str],
        *,
        name: str = "own",
        card: Card | None = None,
    ) -> None:
        if len(labels) != len(held):
            raise UsageError(f"data set {name!r} has {len(held):,} images but {len(labels):,} labels")
        self.held, self.shape, self.name = held, held.shape, name
        self._labels, self.classes = np.asarray(labels, dtype=np.int64), tuple(classes)
        if len(self._labels) and not 0 <= self._labels.min() <= self._labels.max() < len(self.classes):
            raise UsageError(
                f"data set {name!r} has labels {self._labels.min()}..{self._labels.max()} where its "
                f"{len(self.classes)} classes are numbered from 0; are the files of the same set, and whole?"
            )
        self.card = card or Card(name)


class ArrayFactors(_OverHeld, FactorDataset):
    """Images in the order of a factor grid, last factor fastest; ``labels`` and ``classes`` if they also have those."""

    def __init__(
        self,
        held: Held,
        space: FactorSpace,
        *,
        labels: np.ndarray | None = None,
        classes: Sequence[str] = (),
        name: str = "own",
        card: Card | None = None,
    ) -> None:
        if len(space) != len(held):
            raise UsageError(
                f"data set {name!r} has {len(held):,} images where the factors "
                f"({', '.join(f'{k} {size}' for k, size in zip(space.names, space.sizes, strict=True))}) "
                f"make {len(space):,}"
            )
        self.held, self.shape, self.name, self.space = held, held.shape, name, space
        self._labels, self.classes = labels, tuple(classes)
        self.card = card or Card(name)

    def labels(self, index: Index | None = None) -> np.ndarray:
        return _taken(self._labels, index, len(self)) if self._labels is not None else super().labels(index)


class ArrayTable(_OverHeld):
    """Images with a row of factors each, in any combinations and as often as they come: no grid."""

    def __init__(
        self,
        held: Held,
        table: FactorTable,
        *,
        labels: np.ndarray | None = None,
        classes: Sequence[str] = (),
        name: str = "own",
        card: Card | None = None,
    ) -> None:
        self.held, self.shape, self.name = held, held.shape, name
        self._table, self._values, self._labels, self.classes = table, table.values, labels, tuple(classes)
        self.card = card or Card(name)

    def __len__(self) -> int:
        return len(self.held)

    @property
    def factor_names(self) -> tuple[str, ...]:
        return self._table.names

    @property
    def factor_sizes(self) -> tuple[int, ...] | None:
        if self._table.measured:
            return None
        return tuple(int(column.max()) + 1 for column in self._table.columns)

    @property
    def factor_kinds(self) -> tuple[Kind, ...]:
        return self._table.kinds

    def factors(self, index: Index) -> np.ndarray:
        return _taken(self._values, index, len(self))

    def labels(self, index: Index | None = None) -> np.ndarray:
        return _taken(self._labels, index, len(self)) if self._labels is not None else super().labels(index)


def _taken(values: np.ndarray, index: Index | None, count: int) -> np.ndarray:
    return values if index is None else values[check_index(index, count)]

"""Data sets of float vectors instead of images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from unbraid.data.dataset import Card, Dataset, Index
from unbraid.data.space import check_index
from unbraid.errors import UsageError

__all__ = ["Vectors", "as_floats", "from_vectors"]


def as_floats(images: np.ndarray) -> np.ndarray:
    """Images as floats in [0, 1]; vectors as they are: float64 of the same shape."""
    return images / 255 if images.dtype == np.uint8 else images.astype(np.float64)


class Vectors(Dataset):
    """Vectors float32 ``[n, d]`` held in memory; see :func:`from_vectors`."""

    def __init__(
        self,
        vectors: np.ndarray,
        factors: np.ndarray | None,
        names: tuple[str, ...],
        labels: np.ndarray | None,
        classes: tuple[str, ...],
        pairs: np.ndarray | None,
        name: str,
        card: Card | None,
    ) -> None:
        self.shape, self.name, self.card = (vectors.shape[1],), name, card or Card(name)
        self.classes, self.has_transitions = classes, pairs is not None
        self._vectors, self._factors, self._names, self._labels, self._pairs = vectors, factors, names, labels, pairs

    def __len__(self) -> int:
        return len(self._vectors)

    def images(self, index: Index, rng: np.random.Generator | None = None) -> np.ndarray:
        return self._vectors[self._positions(index)]

    @property
    def factor_names(self) -> tuple[str, ...]:
        return self._names

    @property
    def factor_sizes(self) -> tuple[int, ...] | None:
        if self._factors is None:
            return ()
        whole = np.issubdtype(self._factors.dtype, np.integer)
        return tuple(int(top) + 1 for top in self._factors.max(axis=0)) if whole else None

    def factors(self, index: Index) -> np.ndarray:
        return super().factors(index) if self._factors is None else self._factors[self._positions(index)]

    def labels(self, index: Index | None = None) -> np.ndarray:
        if self._labels is None:
            return super().labels(index)
        return self._labels if index is None else self._labels[self._positions(index)]

    def _positions(self, index: Index) -> np.ndarray:
        return check_index(index, len(self))

    @property
    def longest_chain(self) -> int | None:
        return None if self._pairs is None else 2

    def draw_pairs(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        if self._pairs is None:
            raise self._no_transitions()
        first, second = self._pairs[rng.integers(len(self._pairs), size=n)].T
        return first, second

    def draw_chains(self, n: int, length: int, rng: np.random.Generator) -> np.ndarray:
        if length != 2:
            raise UsageError(f"data set {self.name!r} knows pairs only, no sequences of {length}")
        return np.stack(self.draw_pairs(n, rng), axis=1)


def from_vectors(
    vectors: ArrayLike,
    factors: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    *,
    names: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    pairs: ArrayLike | None = None,
    name: str = "own",
    card: Card | None = None,
) -> Vectors:
    """A data set of vectors ``[n, d]``, which stay the floats they are; fully connected networks take them.

    ``factors`` ``[n, K]`` are numbered values (integers from 0) or measured ones (floats), ``labels`` ``[n]`` numbers
    of classes, ``pairs`` integers ``[m, 2]`` the positions of vectors that follow each other.

    >>> data = from_vectors([[0.0, 1.5], [2.0, -3.0]], pairs=[[0, 1]])
    >>> data.shape, data.images([1])
    ((2,), array([[ 2., -3.]], dtype=float32))
    """
    rows = np.asarray(vectors, dtype=np.float32)
    if rows.ndim != 2 or 0 in rows.shape or not np.isfinite(rows).all():
        raise UsageError(f"vectors must be finite numbers [n, d], got shape {rows.shape}")
    table = _table(factors, len(rows))
    columns = 0 if table is None else table.shape[1]
    found = tuple(names) if names is not None else tuple(f"factor{k}" for k in range(columns))
    if len(found) != columns:
        raise UsageError(f"names has {len(found)} entries where factors has {columns} columns")
    numbers = None if labels is None else _integers("labels", labels, (len(rows),))
    known: tuple[str, ...] = ()
    if numbers is not None:
        known = tuple(classes) if classes is not None else tuple(map(str, range(int(numbers.max()) + 1)))
        if numbers.min() < 0 or numbers.max() >= len(known):
            raise UsageError(f"labels must lie in 0..{len(known) - 1}, got {numbers.min()}..{numbers.max()}")
    moves = None if pairs is None else _integers("pairs", pairs, (-1, 2))
    if moves is not None and (not len(moves) or moves.min() < 0 or moves.max() >= len(rows)):
        raise UsageError(f"pairs must be positions in 0..{len(rows) - 1}")
    return Vectors(rows, table, found, numbers, known, moves, name, card)


def _table(factors: ArrayLike | None, count: int) -> np.ndarray | None:
    if factors is None:
        return None
    table = np.asarray(factors)
    if table.ndim != 2 or len(table) != count or table.shape[1] == 0 or table.dtype.kind not in "iuf":
        raise UsageError(f"factors must be numbers [{count}, K], got {table.dtype} of shape {table.shape}")
    if table.dtype.kind == "f":
        if not np.isfinite(table).all():
            raise UsageError("factors must be finite")
        return table.astype(np.float64)
    if table.min() < 0:
        raise UsageError("factors that are integers are numbers of values and must not be negative")
    return table.astype(np.int64)


def _integers(what: str, values: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    found = np.asarray(values)
    fits = found.ndim == len(shape) and all(want in (-1, size) for want, size in zip(shape, found.shape, strict=True))
    if not fits or found.dtype.kind not in "iu":
        wanted = ", ".join("m" if size < 0 else str(size) for size in shape)
        raise UsageError(f"{what} must be integers [{wanted}], got {found.dtype} of shape {found.shape}")
    return found.astype(np.int64)

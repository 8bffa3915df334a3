"""Which cells of a factor grid a rule chooses, computed when asked: a product of value sets, and all outside it.

Both are :class:`unbraid.data.Indices`: they translate between a cell's place in the part and its place in the grid, in
either direction, by arithmetic on the factors. Nothing of the size of the grid is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from unbraid.data.part import Indices
from unbraid.data.space import FactorSpace

__all__ = ["Box", "Joined", "Outside"]


class Box:
    """The cells where every factor takes one of its chosen values, in the order of the grid.

    >>> space = FactorSpace(("shape", "x"), (2, 4), ("categorical", "ordinal"))
    >>> box = Box(space, [(0, 1), (0, 3)])
    >>> box[np.arange(len(box))], box.find(np.arange(8))
    (array([0, 3, 4, 7]), array([ 0, -1, -1,  1,  2, -1, -1,  3]))
    """

    def __init__(self, space: FactorSpace, values: Sequence[Sequence[int]]) -> None:
        self.space = space
        self.values = tuple(tuple(sorted(chosen)) for chosen in values)
        self.sizes = tuple(map(len, self.values))
        self._levels = [np.array(chosen, dtype=np.int64) for chosen in self.values]
        self._ranks = [_ranks(chosen, size) for chosen, size in zip(self.values, space.sizes, strict=True)]
        self._strides, self._grid = _strides(self.sizes), _strides(space.sizes)

    def __len__(self) -> int:
        return prod(self.sizes)

    def __getitem__(self, positions: np.ndarray, /) -> np.ndarray:
        found = np.zeros_like(positions)
        for levels, size, stride, grid in zip(self._levels, self.sizes, self._strides, self._grid, strict=True):
            found += levels[positions // stride % size] * grid
        return found

    def find(self, index: np.ndarray) -> np.ndarray:
        found, inside = np.zeros_like(index), np.ones(index.shape, dtype=bool)
        for ranks, size, stride, grid in zip(self._ranks, self.space.sizes, self._strides, self._grid, strict=True):
            rank = ranks[index // grid % size]
            inside &= rank >= 0
            found += rank * stride
        return np.where(inside, found, -1)


class Outside:
    """The cells that are not in a box, in the order of the grid.

    A cell is found digit by digit: for every factor it is known how many cells outside the box come before each of its
    values, as long as the factors before it took values of the box; after the first that did not, all cells count.

    >>> space = FactorSpace(("shape", "x"), (2, 4), ("categorical", "ordinal"))
    >>> outside = Outside(Box(space, [(0, 1), (0, 3)]))
    >>> outside[np.arange(len(outside))], outside.find(np.arange(8))
    (array([1, 2, 5, 6]), array([-1,  0,  1, -1, -1,  2,  3, -1]))
    """

    def __init__(self, box: Box) -> None:
        self.box, self.space = box, box.space
        self._grid = _strides(self.space.sizes)
        self._before: list[np.ndarray] = []
        self._chosen: list[np.ndarray] = []
        for chosen, size, grid, inside in zip(
            box.values, self.space.sizes, self._grid, _strides(box.sizes), strict=True
        ):
            member = np.isin(np.arange(size), chosen)
            self._chosen.append(member)
            # A value of the box leads to the cells outside it that agree so far; any other leads to all cells.
            self._before.append(np.concatenate([[0], np.cumsum(np.where(member, grid - inside, grid))]))

    def __len__(self) -> int:
        return len(self.space) - len(self.box)

    def __getitem__(self, positions: np.ndarray, /) -> np.ndarray:
        rest, found = positions.copy(), np.zeros_like(positions)
        agrees = np.ones(positions.shape, dtype=bool)
        for before, member, grid in zip(self._before, self._chosen, self._grid, strict=True):
            # Values that lead to no cell repeat an entry; the last of equal ones is the value that leads to this one.
            value = np.searchsorted(before, np.where(agrees, rest, 0), side="right") - 1
            value = np.where(agrees, value.clip(max=len(member) - 1), rest // grid)
            rest = rest - np.where(agrees, before[value], value * grid)
            found += value * grid
            agrees &= member[value]
        return found

    def find(self, index: np.ndarray) -> np.ndarray:
        rest, found = index.copy(), np.zeros_like(index)
        agrees = np.ones(index.shape, dtype=bool)
        for before, member, grid in zip(self._before, self._chosen, self._grid, strict=True):
            value, rest = np.divmod(rest, grid)
            found += np.where(agrees, before[value], value * grid)
            agrees &= member[value]
        return np.where(agrees, -1, found)


class Joined:
    """Several choices without common cells, one after the other."""

    def __init__(self, parts: Sequence[Indices]) -> None:
        self.parts = tuple(parts)
        self._starts = np.cumsum([0, *map(len, self.parts)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, positions: np.ndarray, /) -> np.ndarray:
        found = np.empty_like(positions)
        for part, start, stop in zip(self.parts, self._starts[:-1], self._starts[1:], strict=True):
            here = (positions >= start) & (positions < stop)
            found[here] = part[positions[here] - start]
        return found

    def find(self, index: np.ndarray) -> np.ndarray:
        found = np.full_like(index, -1)
        for part, start in zip(self.parts, self._starts[:-1], strict=True):
            place = part.find(index)
            found = np.where(place >= 0, place + start, found)
        return found


def _strides(sizes: Sequence[int]) -> tuple[int, ...]:
    return tuple(prod(sizes[k + 1 :]) for k in range(len(sizes)))


def _ranks(chosen: Sequence[int], size: int) -> np.ndarray:
    ranks = np.full(size, -1, dtype=np.int64)
    ranks[list(chosen)] = np.arange(len(chosen))
    return ranks

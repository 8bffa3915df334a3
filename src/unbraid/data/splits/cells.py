"""What a split divides: the cells of a factor grid, or images with a table of factors that fills no grid."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from unbraid.data.dataset import Dataset
from unbraid.data.part import Indices, Listed
from unbraid.data.space import FactorSpace, Kind
from unbraid.data.splits.boxes import Box, Joined, Outside
from unbraid.data.splits.rules import Rule
from unbraid.errors import UsageError

__all__ = ["Cells", "GridCells", "TableCells", "cells_of"]

LEVELS = 10
"""Into how many levels of equal count a measured factor is cut."""
MOST = 4_000_000
"""So many images that fill no grid are looked at one by one."""


def cells_of(data: Dataset) -> Cells:
    """What there is to split in a data set."""
    return TableCells(data) if data.space is None else GridCells(data.space)


class Cells(ABC):
    """Factors with numbered values, and what a rule makes of the positions."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    kinds: tuple[Kind, ...]

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def levels(self, index: np.ndarray) -> np.ndarray:
        """The values ``[n, K]`` at these positions."""

    @abstractmethod
    def sides(self, rule: Rule) -> tuple[Indices | None, Indices | None]:
        """The positions in training and in the test; ``None`` for a side without any."""

    @abstractmethod
    def one_ood(self, rule: Rule, factors: Sequence[str]) -> Indices | None:
        """The positions where exactly one factor, one of these, has a value that is never trained on."""

    @abstractmethod
    def ood_counts(self, rule: Rule) -> list[int]:
        """How many positions of the test have exactly 0, 1, 2, ... factors with values that are never trained on."""

    @abstractmethod
    def seen(self, rule: Rule, first: str, second: str) -> np.ndarray:
        """The share of positions trained on for each two values of two factors."""

    def describe(self) -> dict[str, Any]:
        """What tells these cells from others."""
        return {"names": list(self.names), "sizes": list(self.sizes)}


class GridCells(Cells):
    """All combinations of the values of some factors; everything follows from arithmetic."""

    def __init__(self, space: FactorSpace) -> None:
        self.space, self.names, self.sizes, self.kinds = space, space.names, space.sizes, space.kinds

    def __len__(self) -> int:
        return len(self.space)

    def levels(self, index: np.ndarray) -> np.ndarray:
        return self.space.factors(index)

    def sides(self, rule: Rule) -> tuple[Indices | None, Indices | None]:
        box = Box(self.space, rule.box())
        outside = Outside(box)
        sides = (box, outside if len(outside) else None)
        return sides if rule.reserved == "test" else sides[::-1]

    def one_ood(self, rule: Rule, factors: Sequence[str]) -> Indices | None:
        unseen, known = rule.unseen(), self._known(rule)
        boxes = []
        for name in factors:
            at = self.names.index(name)
            boxes.append(Box(self.space, [*known[:at], unseen[name], *known[at + 1 :]]))
        return boxes[0] if len(boxes) == 1 else Joined(boxes)

    def ood_counts(self, rule: Rule) -> list[int]:
        counts = np.ones(1, dtype=np.int64)
        for known, size in zip(self._known(rule), self.sizes, strict=True):
            counts = np.convolve(counts, [len(known), size - len(known)])
        found = counts[: len(rule.unseen()) + 1].tolist()
        return [found[0] - prod(map(len, self._known(rule))), *found[1:]]

    def _known(self, rule: Rule) -> list[tuple[int, ...]]:
        """For every factor the values that are trained on."""
        unseen = rule.unseen()
        every = zip(self.names, self.sizes, strict=True)
        return [tuple(v for v in range(size) if v not in unseen.get(name, ())) for name, size in every]

    def seen(self, rule: Rule, first: str, second: str) -> np.ndarray:
        at = [self.names.index(name) for name in (first, second)]
        box = rule.box()
        rest = prod(len(box[k]) / self.sizes[k] for k in range(len(box)) if k not in at)
        rows, columns = (np.isin(np.arange(self.sizes[k]), box[k]) for k in at)
        share = np.outer(rows, columns) * rest
        return share if rule.reserved == "test" else 1 - share


class TableCells(Cells):
    """Images that fill no grid: their table of factors is looked at once; measured factors are cut into levels."""

    def __init__(self, data: Dataset) -> None:
        if not data.has_factors:
            raise UsageError(f"a split is a rule on factors, which {data.name!r} has none of; data.part(...) takes any")
        if len(data) > MOST:
            raise UsageError(
                f"{data.name!r} fills no grid, so that a split of it looks at every image; it has {len(data):,}, and "
                f"at most {MOST:,} are looked at. Split a part of it: split(data.part(slice(None, None, 100)), ...)"
            )
        table = data.factors(np.arange(len(data)))
        if data.factor_sizes is None:
            table = np.stack([_levels(column) for column in table.T], axis=1)
        self.names, self.kinds = data.factor_names, data.factor_kinds
        self.sizes = data.factor_sizes or (LEVELS,) * len(self.names)
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    def levels(self, index: np.ndarray) -> np.ndarray:
        found: np.ndarray = self._table[index]
        return found

    def sides(self, rule: Rule) -> tuple[Indices | None, Indices | None]:
        box = self._member(rule.box()).all(axis=1)
        sides = _listed(box), _listed(~box)
        return sides if rule.reserved == "test" else sides[::-1]

    def one_ood(self, rule: Rule, factors: Sequence[str]) -> Indices | None:
        odd = self._odd(rule)
        columns = [self.names.index(name) for name in factors]
        alone: np.ndarray = odd.sum(axis=1) == 1
        return _listed(alone & odd[:, columns].any(axis=1))

    def ood_counts(self, rule: Rule) -> list[int]:
        _, test = self.sides(rule)
        counted = self._odd(rule).sum(axis=1)
        inside = np.zeros(0, dtype=np.int64) if test is None else counted[test[np.arange(len(test))]]
        return np.bincount(inside, minlength=len(rule.unseen()) + 1).tolist()

    def seen(self, rule: Rule, first: str, second: str) -> np.ndarray:
        at = [self.names.index(name) for name in (first, second)]
        shape = tuple(self.sizes[k] for k in at)
        trained = self._member(rule.box()).all(axis=1) == (rule.reserved == "test")
        counts, every = np.zeros(shape), np.zeros(shape)
        np.add.at(counts, tuple(self._table[trained][:, at].T), 1)
        np.add.at(every, tuple(self._table[:, at].T), 1)
        return np.divide(counts, every, out=np.zeros(shape), where=every > 0)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "table": hashlib.sha256(np.ascontiguousarray(self._table).tobytes()).hexdigest()}

    def _member(self, values: Sequence[Sequence[int]]) -> np.ndarray:
        return np.stack([np.isin(column, chosen) for column, chosen in zip(self._table.T, values, strict=True)], axis=1)

    def _odd(self, rule: Rule) -> np.ndarray:
        unseen = rule.unseen()
        return self._member([unseen.get(name, ()) for name in self.names])


def _listed(chosen: Any) -> Listed | None:
    found = np.flatnonzero(chosen)
    return Listed(found) if len(found) else None


def _levels(column: np.ndarray) -> np.ndarray:
    """Which tenth of the sorted values each one lies in; equal values share a level."""
    edges = np.quantile(column, np.arange(1, LEVELS) / LEVELS)
    return np.searchsorted(edges, column, side="right")

"""From a table of factor values to numbers, and to the grid that it fills where it fills one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from unbraid.data.space import FactorSpace, Kind
from unbraid.errors import UsageError, unknown_name

__all__ = ["FactorTable", "plain_column", "read_table"]


@dataclass(frozen=True)
class FactorTable:
    """A table of factors whose columns all vary: names, kinds, and per column numbers of values or measurements."""

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    columns: tuple[np.ndarray, ...]
    """Each int64 ``[n]`` (values numbered as they sort) or float64 ``[n]`` (as measured)."""

    @property
    def measured(self) -> bool:
        """Whether a column lies on a continuum."""
        return any(column.dtype.kind == "f" for column in self.columns)

    @property
    def values(self) -> np.ndarray:
        """The whole table ``[n, K]``: int64, or float64 if a column was measured."""
        return np.stack(self.columns, axis=1)

    def grid(self) -> tuple[FactorSpace, np.ndarray | None] | None:
        """The space, and where each point's image lies unless they are in its order; ``None`` if this is no full grid.

        A grid has every combination of the values once. Floats may be values of one, unless each occurs only once.
        """
        numbered = [np.unique(column, return_inverse=True) for column in self.columns]
        sizes = tuple(len(values) for values, _ in numbered)
        rows = len(self.columns[0])
        if prod(sizes) != rows or (self.measured and len(sizes) == 1):
            return None
        space = FactorSpace(self.names, sizes, self.kinds)
        position = space.index(np.stack([where for _, where in numbered], axis=1))
        if np.array_equal(position, np.arange(rows)):
            return space, None
        order = np.argsort(position)
        return (space, order) if np.array_equal(position[order], np.arange(rows)) else None

    def with_column(self, name: str, column: np.ndarray) -> "FactorTable":
        """The table with one more, categorical column; as it is if a column says the same already."""
        known = any(_same_groups(column, own) for own in self.columns)
        if known or name in self.names or np.ptp(column) == 0:
            return self
        return FactorTable((*self.names, name), (*self.kinds, "categorical"), (*self.columns, column))


def read_table(
    factors: np.ndarray | Sequence | Mapping[str, Sequence],
    count: int,
    names: Sequence[str] | None,
    kinds: Sequence[Kind] | None,
) -> FactorTable:
    """A table of factors from whatever holds one; a column that never changes is left out."""
    names, columns = _columns(factors, count, names)
    usual: list[Kind] = ["categorical" if column.dtype.kind in "US" else "ordinal" for column in columns]
    chosen = usual if kinds is None else list(kinds)
    if len(chosen) != len(columns):
        raise UsageError(f"kinds has {len(chosen)} entries where factors has {len(columns)} columns")
    for kind in chosen:
        if kind not in ("ordinal", "categorical", "periodic"):
            raise unknown_name("kind of factor", str(kind), ("ordinal", "categorical", "periodic"))
    if len(set(names)) != len(names):
        raise UsageError(f"factor names repeat: {tuple(names)}")
    kept = [k for k in range(len(columns)) if (columns[k] != columns[k][0]).any()]
    if not kept:
        raise UsageError("no column of factors varies; use from_arrays(images) for images without factors")
    return FactorTable(
        tuple(names[k] for k in kept), tuple(chosen[k] for k in kept), tuple(_numbers(columns[k]) for k in kept)
    )


def _numbers(column: np.ndarray) -> np.ndarray:
    """Measurements as they are; whole numbers and text numbered from 0 in their order."""
    if column.dtype.kind == "f" and not (column == np.rint(column)).all():
        return column.astype(np.float64)
    return np.unique(column, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _same_groups(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two columns divide the rows into the same groups."""
    pairs = len(np.unique(np.stack([a, b], axis=1), axis=0))
    return pairs == len(np.unique(a)) == len(np.unique(b))


def _columns(
    factors: np.ndarray | Sequence | Mapping[str, Sequence], count: int, names: Sequence[str] | None
) -> tuple[list[str], list[np.ndarray]]:
    if isinstance(factors, Mapping):
        if names is not None:
            raise UsageError("factors names its columns already; leave out names")
        names, columns = list(factors), [np.asarray(column) for column in factors.values()]
        for name, column in zip(names, columns, strict=True):
            if column.shape != (count,):
                raise UsageError(f"factor {name!r} must be [{count}], one for each image, got shape {column.shape}")
    else:
        # As objects a list keeps the type of every entry; as an array of text 10 would sort before 9.
        table = factors if isinstance(factors, np.ndarray) else np.array(factors, dtype=object)
        if table.ndim != 2 or len(table) != count or table.shape[1] == 0:
            raise UsageError(f"factors must be [{count}, K], one row for each image, got shape {table.shape}")
        names = list(names) if names is not None else [f"factor{k}" for k in range(table.shape[1])]
        if len(names) != table.shape[1]:
            raise UsageError(f"names has {len(names)} entries where factors has {table.shape[1]} columns")
        columns = list(table.T)
    return names, [plain_column(column, f"factor {name!r}") for name, column in zip(names, columns, strict=True)]


def plain_column(values: np.ndarray, what: str) -> np.ndarray:
    """A column as numbers or text."""
    if values.dtype == object:
        entries = values.tolist()
        if not (
            all(isinstance(e, str) for e in entries) or all(isinstance(e, int | float | np.number) for e in entries)
        ):
            raise UsageError(f"{what} mixes types; give numbers only or text only")
        values = np.array(entries)
    if values.dtype == object or values.dtype.kind not in "biufUS":
        raise UsageError(f"{what} must be numbers or text, got {values.dtype}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        first = int((~np.isfinite(values)).argmax())
        word = "NaN" if np.isnan(values[first]) else "infinity"
        raise UsageError(f"{what} contains {word}, first in row {first}; leave those images out")
    return values

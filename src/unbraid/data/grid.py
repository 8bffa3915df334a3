"""From a table of factor values to the grid it fills."""

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from unbraid.data.space import FactorSpace, Kind
from unbraid.errors import UsageError

__all__ = ["grid_of", "plain_column"]


def grid_of(
    factors: np.ndarray | Sequence | Mapping[str, Sequence],
    count: int,
    names: Sequence[str] | None,
    kinds: Sequence[Kind] | None,
) -> tuple[FactorSpace, np.ndarray | None]:
    """The space of a factor table and, unless they are in grid order already, where each grid point's image lies."""
    names, columns = _columns(factors, count, names)
    usual: list[Kind] = ["categorical" if column.dtype.kind in "US" else "ordinal" for column in columns]
    chosen = usual if kinds is None else list(kinds)
    if len(chosen) != len(columns):
        raise UsageError(f"kinds has {len(chosen)} entries where factors has {len(columns)} columns")
    found = [np.unique(column, return_inverse=True) for column in columns]
    kept = [k for k in range(len(columns)) if len(found[k][0]) > 1]
    if not kept:
        raise UsageError("no column of factors varies; use from_arrays(images) for images without factors")
    space = FactorSpace(
        tuple(names[k] for k in kept), tuple(len(found[k][0]) for k in kept), tuple(chosen[k] for k in kept)
    )
    order = _order(space, np.stack([found[k][1] for k in kept], axis=1), [found[k][0] for k in kept])
    return space, order


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


def _order(space: FactorSpace, numbers: np.ndarray, values: list[np.ndarray]) -> np.ndarray | None:
    points, rows = prod(space.sizes), len(numbers)
    if points == rows:
        position = space.index(numbers)
        if np.array_equal(position, np.arange(rows)):
            return None
        order = np.argsort(position)
        if np.array_equal(position[order], np.arange(rows)):
            return order
    raise _gaps(space, numbers, values, points)


def _gaps(space: FactorSpace, numbers: np.ndarray, values: list[np.ndarray], points: int) -> UsageError:
    unique, counts = np.unique(numbers, axis=0, return_counts=True)
    missing, repeats = points - len(unique), len(numbers) - len(unique)
    what = [f"{missing:,} of {points:,} missing"] * bool(missing) + [f"{repeats:,} rows repeat another"] * bool(repeats)
    example = unique[counts.argmax()]
    if missing and points <= 1 << 62:  # rows are sorted as the grid is: the first that is out of step shows the gap
        steps = space.index(unique) != np.arange(len(unique))
        example = space.factors([int(steps.argmax()) if steps.any() else len(unique)])[0]
    shown = ", ".join(f"{name}={value[k]}" for name, value, k in zip(space.names, values, example, strict=True))
    return UsageError(
        f"factors must hold every combination of their values ({' x '.join(map(str, space.sizes))}) once: "
        f"{', '.join(what)}, for example {shown}. Use from_arrays(images) for images without a full grid, "
        "or from_arrays(images, labels=one_column)"
    )


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
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise UsageError(f"{what} contains NaN, first in row {int(np.isnan(values).argmax())}")
    return values

"""How claims read tables: a number per seed of the rows that meet some conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from unbraid.claims.claim import Tables
from unbraid.claims.measured import Pairs, Values
from unbraid.errors import UsageError

__all__ = ["differences", "mean_over", "of_seeds", "pairs", "rows"]

Each = Mapping[int, float]


def rows(tables: Tables, group: str, **where: Any) -> pl.DataFrame:
    """The rows of a group's table whose columns have these values (``None``: null; a tuple: one of them)."""
    table = tables[group]
    for name, value in where.items():
        if name not in table.columns:
            raise UsageError(f"the table of {group} has no column {name!r}; it has {', '.join(table.columns[:12])}")
        if isinstance(value, tuple):
            table = table.filter(pl.col(name).is_in(list(value)))
        else:
            table = table.filter(pl.col(name).is_null() if value is None else pl.col(name) == value)
    if not len(table):
        told = ", ".join(f"{name} {value}" for name, value in where.items())
        raise UsageError(f"the table of {group} has no row with {told or 'anything'}")
    return table


def of_seeds(tables: Tables, group: str, column: str, *, times: float = 1.0, **where: Any) -> dict[int, float]:
    """A column by seed: the mean of the rows that meet the conditions; a null is no number, and refused."""
    table = rows(tables, group, **where)
    if column not in table.columns:
        raise UsageError(f"the table of {group} has no column {column!r}")
    found = table.group_by("seed").agg(pl.col(column).mean(), pl.col(column).is_null().any().alias("_lacks"))
    lacking = found.filter(pl.col("_lacks"))["seed"].to_list()
    if lacking:
        raise UsageError(f"{group}: {column} was not measured for seed {lacking[0]}")
    return {int(seed): times * float(value) for seed, value in found.sort("seed").select("seed", column).iter_rows()}


def pairs(first: Each, second: Each) -> Pairs:
    """Both numbers of every seed; a seed that only one has is refused, not left out."""
    if set(first) != set(second):
        raise UsageError(f"both sides need the same seeds, got {sorted(first)} and {sorted(second)}")
    return Pairs({seed: (first[seed], second[seed]) for seed in sorted(first)})


def differences(first: Each, second: Each) -> Values:
    """Differences by seed."""
    return Values({seed: a - b for seed, (a, b) in pairs(first, second).each.items()})


def mean_over(*parts: Each) -> dict[int, float]:
    """The mean of several numbers by seed."""
    if len({tuple(sorted(part)) for part in parts}) != 1:
        raise UsageError(f"all parts need the same seeds, got {[sorted(part) for part in parts]}")
    return {seed: sum(part[seed] for part in parts) / len(parts) for seed in parts[0]}

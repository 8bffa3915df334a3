"""Everything that a study measured, whatever it is: means over seeds per data set, method and condition."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from unbraid.study.analysis._table import conditions_of, metrics_of
from unbraid.study.analysis.comparison import method_of

__all__ = ["measured_means"]

_ABOUT = ("strength", "seconds")
"""Numbers of a table that nobody measured of a model."""


def measured_means(table: pl.DataFrame) -> pl.DataFrame:
    """Mean and standard deviation over seeds of every number in the table, ceilings left out.

    A row per score, data set, method and condition (``level 3``; empty where none matters to it): ``mean``, ``sd``
    (null for one run), ``runs``. Networks, numbers of steps, augmentations and penalties stand with the method where
    there are several.
    """
    numbers = [name for name, kind in table.schema.items() if kind.is_float() and not name.endswith("_ceiling")]
    first = metrics_of(table)
    columns = [*first, *(name for name in numbers if name not in (*first, *_ABOUT, *conditions_of(table)))]
    known = ("net", "steps", "augment", "penalties")
    several = [name for name in known if name in table.columns and table[name].n_unique() > 1]
    parts = [_means(table, column, several) for column in columns]
    return pl.concat([part for part in parts if len(part)] or [pl.DataFrame(schema=_SCHEMA)])


_SCHEMA = {
    "score": pl.String,
    "data": pl.String,
    "method": pl.String,
    "condition": pl.String,
    "mean": pl.Float64,
    "sd": pl.Float64,
    "runs": pl.UInt32,
}


def _means(table: pl.DataFrame, column: str, several: Sequence[str]) -> pl.DataFrame:
    value = pl.col(column).cast(pl.Float64)
    known = table.filter(value.is_finite())
    conditions = _conditions(table, known, column)
    method = pl.concat_str([method_of(), *map(_words, several)], separator=", ", ignore_nulls=True)
    under = pl.concat_str([pl.lit(None, pl.String), *map(_words, conditions)], separator=", ", ignore_nulls=True)
    rows = known.unique(["index", *conditions], maintain_order=True).select(
        pl.lit(column).alias("score"),
        "data",
        method.alias("method"),
        under.alias("condition"),
        value.alias("value"),
    )
    keys = ["score", "data", "method", "condition"]
    found = pl.col("value")
    means = rows.group_by(keys, maintain_order=True).agg(mean=found.mean(), sd=found.std(), runs=pl.len())
    return means.cast(_SCHEMA)  # type: ignore[arg-type]


def _conditions(table: pl.DataFrame, known: pl.DataFrame, column: str) -> list[str]:
    """The conditions that matter to a column: it differs between them, or is there only where they are said.

    What holds under a wider condition stands in all rows that refine it.
    """
    every = conditions_of(table)
    kept = list(every)
    for name in every:
        rest = [other for other in kept if other != name]
        differs = len(known.unique(["index", *rest, column])) > len(known.unique(["index", *rest]))
        tied = known[name].null_count() == 0 and table[name].null_count() > 0
        if not differs and not tied:
            kept = rest
    return kept


def _words(name: str) -> pl.Expr:
    """A condition as ``level 3``; null where it is not said."""
    return pl.lit(f"{name} ") + pl.col(name).cast(pl.String)

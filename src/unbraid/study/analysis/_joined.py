"""What was measured of a run under conditions of its own, beside the scores of its codes."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from unbraid.errors import UsageError
from unbraid.study.analysis._table import IDENTITY, choose_data, on_one_data_set, rows_of

__all__ = ["joined", "measured_once"]

_RUN = [name for name in IDENTITY if name != "representation"]


def joined(
    table: pl.DataFrame,
    conditions: Sequence[str],
    columns: Sequence[str],
    metrics: Sequence[str],
    *,
    measure: str,
    data: str | None = None,
    representation: str = "mean",
) -> pl.DataFrame:
    """A row per run and value of ``conditions`` with ``columns``, and the run's scores ``metrics`` beside them.

    ``measure`` is what gives the columns, for the message to those whose table has none of it.
    """
    once = measured_once(table, conditions, columns, measure=measure, data=data)
    scores = rows_of(table, metrics, representation=representation, data=data).drop("representation")
    return once.join(scores, on=_RUN, how="inner", nulls_equal=True, maintain_order="left")


def measured_once(
    table: pl.DataFrame,
    conditions: Sequence[str],
    columns: Sequence[str],
    *,
    measure: str,
    data: str | None = None,
    optional: Sequence[str] = (),
) -> pl.DataFrame:
    """A row per run and value of ``conditions`` with ``columns`` as finite numbers or null.

    Refused where a run has several values of one, or two runs are told apart by none of the study's settings. Columns
    that are ``optional`` are null where the table has them not.
    """
    for column in (*conditions, *columns):
        if column not in table.columns:
            raise UsageError(
                f"the table has no column {column!r}: add [measures.{measure}] to the study's file and run "
                "`unbraid study run FILE --out FOLDER --reevaluate` (nothing is trained anew)"
            )
    found = on_one_data_set(table).drop_nulls(list(conditions))
    found = found if data is None else choose_data(found, data)
    found = found.with_columns(pl.lit(None, pl.Float64).alias(name) for name in optional if name not in found.columns)
    columns = [*columns, *optional]
    numbers = pl.col(*columns).cast(pl.Float64)
    index = [name for name in ("index",) if name in found.columns]
    own = found.select(*index, *_RUN, *conditions, pl.when(numbers.is_finite()).then(numbers).otherwise(None))
    measured = own.group_by([*index, *_RUN, *conditions], maintain_order=True).agg(pl.col(*columns).drop_nulls())
    several = measured.filter(
        pl.any_horizontal(pl.col(*columns).list.n_unique() > 1) | pl.struct(*_RUN, *conditions).is_duplicated()
    )
    if len(several):
        told = ", ".join(f"{key} {value}" for key, value in zip(_RUN, several.select(_RUN).row(0), strict=True))
        raise UsageError(
            f"{measure} measured one run several times under {', '.join(conditions)} ({told}), or several runs that "
            "differ in network, steps, augmentations or penalties; keep one of them: table.filter(...)"
        )
    return measured.drop(index).with_columns(pl.col(*columns).list.first())

"""What was measured of a run under conditions of its own, beside the scores of its codes."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from unbraid.errors import UsageError
from unbraid.study.analysis._table import IDENTITY, choose_data, on_one_data_set, rows_of

__all__ = ["joined"]


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
    for column in (*conditions, *columns):
        if column not in table.columns:
            raise UsageError(
                f"the table has no column {column!r}: add [measures.{measure}] to the study's file and run "
                "`unbraid study run FILE --out FOLDER --reevaluate` (nothing is trained anew)"
            )
    scores = rows_of(table, metrics, representation=representation, data=data).drop("representation")
    found = on_one_data_set(table).drop_nulls(list(conditions))
    found = found if data is None else choose_data(found, data)
    run = [name for name in IDENTITY if name != "representation"]
    numbers = pl.col(*columns).cast(pl.Float64)
    own = found.select(*run, *conditions, pl.when(numbers.is_finite()).then(numbers).otherwise(None))
    measured = own.group_by([*run, *conditions], maintain_order=True).agg(pl.col(*columns).drop_nulls())
    if len(several := measured.filter(pl.any_horizontal(pl.col(*columns).list.n_unique() > 1))):
        told = ", ".join(f"{key} {value}" for key, value in zip(run, several.select(run).row(0), strict=True))
        raise UsageError(
            f"{measure} measured one run several times under {', '.join(conditions)} ({told}); keep one of them: "
            "table.filter(...)"
        )
    once = measured.with_columns(pl.col(*columns).list.first())
    return once.join(scores, on=run, how="inner", nulls_equal=True, maintain_order="left")

"""Which factors models found, apart or not: what scores of disentanglement are to be read beside."""

from __future__ import annotations

import polars as pl

__all__ = ["FOUND", "factors_found"]

FOUND = 0.9
"""R² or accuracy from which on a factor counts as found."""
_READ = {"r2_": "R²", "accuracy_": "accuracy"}
_SCHEMA = {
    "data": pl.String,
    "factor": pl.String,
    "number": pl.String,
    "median": pl.Float64,
    "best_quarter": pl.Float64,
    "best": pl.Float64,
    "found": pl.Float64,
    "runs": pl.UInt32,
}


def factors_found(table: pl.DataFrame) -> pl.DataFrame:
    """What the measure ``factors`` says over all runs of a data set: a row per factor, and one of how many are found.

    ``median``, ``best_quarter`` (which a quarter of the runs reaches) and ``best`` are of the ``number`` (R², or how
    often categories are named); ``found`` is the share of runs with at least :data:`FOUND`. Empty without the measure.
    """
    parts = [pl.DataFrame(schema=_SCHEMA)]
    for (data,), rows in table.group_by("data", maintain_order=True):
        runs = rows.unique("index", maintain_order=True)
        columns = [name for name in runs.columns if name.startswith(tuple(_READ)) and not name.endswith("_ceiling")]
        known = [name for name in columns if runs[name].count()]
        for name in known:
            start = next(start for start in _READ if name.startswith(start))
            parts.append(_over_runs(data, name.removeprefix(start), _READ[start], runs[name], FOUND))
        if shares := [name for name in known if name.startswith("r2_")]:
            counted = runs.drop_nulls(shares).select(pl.sum_horizontal(pl.col(shares) >= FOUND).cast(pl.Float64))
            parts.append(_over_runs(data, "all", f"factors with R² from {FOUND} on", counted.to_series(), len(shares)))
    return pl.concat(parts)


def _over_runs(data: object, factor: str, number: str, values: pl.Series, enough: float) -> pl.DataFrame:
    known = values.drop_nulls()
    row = {
        "data": str(data),
        "factor": factor,
        "number": number,
        "median": known.median(),
        "best_quarter": known.quantile(0.75, interpolation="lower"),
        "best": known.max(),
        "found": (known >= enough).mean(),
        "runs": len(known),
    }
    return pl.DataFrame([row], schema=_SCHEMA)

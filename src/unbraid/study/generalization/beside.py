"""The benchmark's table beside the published one: R² x 100, mean and standard deviation over seeds."""

from __future__ import annotations

import polars as pl

from unbraid.data import SPLITS
from unbraid.generalization import published, published_models
from unbraid.study.generalization.models import LIKE, STANDS_FOR
from unbraid.study.generalization.results import Benchmark

__all__ = ["beside_published", "imitates"]


def beside_published(benchmark: Benchmark) -> pl.DataFrame:
    """A row per data set, model and split: ``mean`` and ``sd`` (n - 1) of 100 R² over ``seeds``, the published cell.

    ``sd`` is null for one seed. ``published`` and ``published_sd`` are null where the paper has no such row;
    ``stand_in`` says that the data imitate those of the paper, so that the digits are not comparable.
    """
    value = 100 * pl.col("r2")
    means = benchmark.chosen.group_by("data", "model", "kind", "split", maintain_order=True).agg(
        strength=pl.col("strength").first(), mean=value.mean(), sd=value.std(ddof=1), seeds=pl.len()
    )
    rows = []
    names: dict[str, str | None] = {name: name for name in published_models()}
    names |= {run.model.name: run.model.published for run in benchmark.runs}
    for row in means.iter_rows(named=True):
        theirs, model = STANDS_FOR.get(row["data"]), names.get(row["model"])
        cell = published(theirs, row["split"], model) if theirs and model and row["split"] in SPLITS else None
        known = (
            {} if cell is None else {"published": cell.mean, "published_sd": None if cell.sd != cell.sd else cell.sd}
        )
        rows.append({**row, "published": None, "published_sd": None, **known, "stand_in": imitates(row["data"])})
    order = {(data, model): i for data in benchmark.data for i, model in enumerate(benchmark.models(data))}
    places = {data: i for i, data in enumerate(benchmark.data)}
    splits = {split: i for i, split in enumerate(SPLITS)}
    rows.sort(key=lambda r: (places[r["data"]], order[r["data"], r["model"]], splits.get(r["split"], 9)))
    schema = {
        "data": pl.String,
        "model": pl.String,
        "kind": pl.String,
        "split": pl.String,
        "strength": pl.Float64,
        "mean": pl.Float64,
        "sd": pl.Float64,
        "seeds": pl.Int64,
        "published": pl.Float64,
        "published_sd": pl.Float64,
        "stand_in": pl.Boolean,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def imitates(data: str) -> bool:
    """Whether a data set stands in for one of the paper."""
    return data in LIKE or (STANDS_FOR.get(data, data) != data and data != "mpi3d-real")

"""The tables of a benchmark, which all its charts, findings and comparisons are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from unbraid.data import SPLITS
from unbraid.errors import UsageError
from unbraid.reading import read_table
from unbraid.study.generalization.models import KINDS
from unbraid.study.generalization.names import TABLES
from unbraid.study.generalization.trained import Trained

__all__ = ["SCHEMAS", "Benchmark", "read_tables"]


@dataclass(frozen=True)
class Benchmark:
    """The tables of a benchmark; all begin with data, split, model, kind, strength, seed and index of the run.

    A model that was trained with several strengths stands in all tables but ``scores`` with the selected one alone.
    """

    name: str
    scores: pl.DataFrame
    """R² and squared error of the test side, R² of the training side, ``dci``, ``selected``, and how it was trained."""
    factors: pl.DataFrame
    """R² of every factor on the test side."""
    baselines: pl.DataFrame
    """R² of predictors that need no training: data, split, baseline, r2."""
    modularity: pl.DataFrame
    attribution: pl.DataFrame
    towards: pl.DataFrame
    """How far from the training mean: ``below`` (share of images not beyond the truth), ``inside`` (share in the seen
    range), ``median``, and ``counts``."""
    trust: pl.DataFrame
    parts: pl.DataFrame
    similarity: pl.DataFrame
    """Every two trained models of an extrapolation: data, first, first_seed, second, second_seed, pooled, within."""
    runs: tuple[Trained, ...] = ()

    @cached_property
    def data(self) -> list[str]:
        return self.scores["data"].unique(maintain_order=True).to_list()

    @cached_property
    def seeds(self) -> list[int]:
        return self.scores["seed"].unique().sort().to_list()

    @cached_property
    def chosen(self) -> pl.DataFrame:
        """Scores of every model with its selected strength."""
        return self.scores.filter("selected")

    def splits(self, data: str) -> list[str]:
        """The splits of a data set, in the published order."""
        found = set(self.scores.filter(pl.col("data") == data)["split"])
        return [kind for kind in SPLITS if kind in found] + sorted(found - set(SPLITS))

    def models(self, data: str) -> list[str]:
        """The models of a data set: read-outs, supervised, transfer, each as they stand in the file."""
        rows = self.scores.filter(pl.col("data") == data).unique("model", keep="first", maintain_order=True)
        order = {kind: place for place, kind in enumerate(KINDS)}
        return [name for name, _ in sorted(rows.select("model", "kind").rows(), key=lambda row: order[row[1]])]

    def on(self, data: str) -> Benchmark:
        """One data set alone."""
        return self._each(lambda table: table.filter(pl.col("data") == data))

    def without(self, seeds: Sequence[int]) -> Benchmark:
        """The same without the runs of some seeds; what has no seed, such as the truth, stays."""

        def keep(table: pl.DataFrame) -> pl.DataFrame:
            columns = [name for name in ("seed", "first_seed", "second_seed") if name in table.columns]
            return table.filter(*(pl.col(name).is_in(list(seeds)).not_().fill_null(True) for name in columns))

        return self._each(keep)

    def _each(self, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Benchmark:
        changed: dict[str, Any] = {name: change(getattr(self, name)) for name in TABLES}
        return replace(self, **changed)


_ABOUT = {
    "data": pl.String,
    "split": pl.String,
    "model": pl.String,
    "kind": pl.String,
    "strength": pl.Float64,
    "seed": pl.Int64,
    "index": pl.Int64,
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "scores": {
        **_ABOUT,
        "net": pl.String,
        "steps": pl.Int64,
        "batch_size": pl.Int64,
        "augment": pl.String,
        "r2": pl.Float64,
        "squared_error": pl.Float64,
        "r2_train": pl.Float64,
        "images": pl.Int64,
        "dci": pl.Float64,
        "dci_by": pl.String,
        "learning_rate": pl.Float64,
        "readout": pl.String,
        "readout_steps": pl.Int64,
        "selected": pl.Boolean,
    },
    "factors": {**_ABOUT, "factor": pl.String, "r2": pl.Float64, "squared_error": pl.Float64},
    "baselines": {"data": pl.String, "split": pl.String, "baseline": pl.String, "r2": pl.Float64},
    "modularity": {**_ABOUT, "factor": pl.String, "ood": pl.Float64, "id": pl.Float64, "images": pl.Int64},
    "attribution": {**_ABOUT, "factor": pl.String, "r2": pl.Float64, "images": pl.Int64},
    "towards": {
        **_ABOUT,
        "below": pl.Float64,
        "inside": pl.Float64,
        "median": pl.Float64,
        "mean": pl.Float64,
        "images": pl.Int64,
        "counts": pl.List(pl.Int64),
    },
    "trust": {
        **_ABOUT,
        "factor": pl.String,
        "bound": pl.Float64,
        "steps": pl.Int64,
        "asked": pl.Int64,
        "scaled": pl.Float64,
    },
    "parts": {
        **_ABOUT,
        "factor": pl.String,
        "where": pl.String,
        "slope": pl.Float64,
        "shrinkage": pl.Float64,
        "offset": pl.Float64,
        "noise": pl.Float64,
        "images": pl.Int64,
    },
    "similarity": {
        "data": pl.String,
        "split": pl.String,
        "first": pl.String,
        "first_seed": pl.Int64,
        "second": pl.String,
        "second_seed": pl.Int64,
        "pooled": pl.Float64,
        "within": pl.Float64,
    },
}


def read_tables(folder: str | Path, name: str) -> Benchmark:
    """A benchmark from the Parquet files of its tables, as `unbraid generalize report --markdown` writes them.

    Verdicts and comparisons come out as from the runs themselves; what one run said of one image is not in them.
    """
    found: dict[str, Any] = {}
    for table, schema in SCHEMAS.items():
        path = Path(folder) / f"{table}.parquet"
        read = read_table(path)
        if dict(read.schema) != pl.Schema(schema):
            raise UsageError(f"{path} is not the table {table!r} of a benchmark; its columns are {read.columns}")
        found[table] = read
    return Benchmark(name, **found)

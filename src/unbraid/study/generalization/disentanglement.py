"""Do codes that came apart make better read-outs? Correlations over runs, as Schott et al. (2022) report them."""

from __future__ import annotations

import polars as pl

from unbraid.study.generalization.results import Benchmark

__all__ = ["disentanglement_correlations"]

_SCHEMA = {
    "data": pl.String,
    "split": pl.String,
    "runs": pl.Int64,
    "pearson": pl.Float64,
    "spearman": pl.Float64,
    "p": pl.Float64,
}


def disentanglement_correlations(benchmark: Benchmark) -> pl.DataFrame:
    """Correlation of DCI disentanglement and R² of the read-out over all runs that have both, strengths included.

    A row for each data set and split, one for each data set (``split`` is ``all``) and one for everything; ``p`` is
    that of Spearman's. Cells with fewer than four runs, or in which nothing varies, are left out.
    """
    rows = benchmark.scores.filter(pl.col("kind") == "read-out").drop_nulls("dci").drop_nans("dci")
    cells = [(data, split, _cell(rows, data, split)) for data in benchmark.data for split in benchmark.splits(data)]
    cells += [(data, "all", rows.filter(pl.col("data") == data)) for data in benchmark.data]
    if len(benchmark.data) > 1:
        cells.append(("all", "all", rows))
    found = [(data, split, len(cell), *_correlations(cell)) for data, split, cell in cells if _varies(cell)]
    return pl.DataFrame(found, schema=_SCHEMA, orient="row")


def _cell(rows: pl.DataFrame, data: str, split: str) -> pl.DataFrame:
    return rows.filter((pl.col("data") == data) & (pl.col("split") == split))


def _varies(cell: pl.DataFrame) -> bool:
    return len(cell) >= 4 and cell["dci"].n_unique() > 1 and cell["r2"].n_unique() > 1


def _correlations(cell: pl.DataFrame) -> tuple[float, float, float]:
    from scipy.stats import pearsonr, spearmanr

    ranks = spearmanr(cell["dci"], cell["r2"])
    return float(pearsonr(cell["dci"], cell["r2"]).statistic), float(ranks.statistic), float(ranks.pvalue)

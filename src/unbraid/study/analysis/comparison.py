"""Which method is ahead? Means over seeds, ranks within every data set and score, and what of that is luck.

The way of Klindt et al. (2021): a cell is one score on one data set; methods are compared within cells by t-tests and
over all cells by their mean rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl

from unbraid.errors import UsageError, unknown_name
from unbraid.study.analysis._table import METRICS, rows_of
from unbraid.study.published import load

__all__ = [
    "COMPARED",
    "mean_ranks",
    "method_of",
    "method_scores",
    "published_scores",
    "rank_methods",
    "rank_tests",
]

COMPARED = (*METRICS[:3], "mcc", *METRICS[3:])
"""The seven scores of the published tables; data with measured factors have the MCC alone."""
CELL = ("data", "metric")


def method_of() -> pl.Expr:
    """A setting in words: ``slow-vae``, ``pm-vae gamma 10``."""
    setting = pl.concat_str(
        pl.col("objective", "strength_name"), pl.col("strength").map_elements(_short, pl.String), separator=" "
    )
    return pl.coalesce(setting, pl.col("objective")).alias("method")


def method_scores(
    table: pl.DataFrame,
    *,
    metrics: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    representation: str = "mean",
) -> pl.DataFrame:
    """Mean and standard deviation over seeds of each score, with each method's rank and what a t-test says of it.

    One row per data set, score and method: ``mean``, ``sd``, ``runs``, ``rank`` (1 is best, ties share) and ``mark``,
    which is ``best`` or ``worst`` where a two-sample t-test sets it apart (p < 0.05) from the next, else null.
    ``stand_in`` says whether the data set imitates a published one. ``methods`` keeps some only, before ranking.
    """
    if metrics is None:
        metrics = [name for name in COMPARED if name in table.columns]
        if not metrics:
            raise UsageError(f"the table has none of the scores {', '.join(COMPARED)}; let the study compute some")
    kinds = ["variant"] if "variant" in table.columns else []
    rows = rows_of(table, metrics, representation=representation, also=kinds).with_columns(method_of())
    if methods is not None:
        for name in methods:
            if name not in set(rows["method"]):
                raise unknown_name("method", name, rows["method"].unique(maintain_order=True).to_list())
        rows = rows.filter(pl.col("method").is_in(list(methods)))
    long = rows.unpivot(metrics, index=["data", "method", *kinds], variable_name="metric", value_name="value")
    value = pl.col("value")
    means = (
        long.drop_nulls("value")
        .group_by("data", "metric", "method", *kinds, maintain_order=True)
        .agg(value.mean().alias("mean"), value.std().alias("sd"), value.len().alias("runs"))
    )
    named = pl.col("data").map_elements(_is_stand_in, pl.Boolean).alias("stand_in")
    return rank_methods(means.with_columns(named))


def published_scores(tables: Sequence[int] = (1, 2)) -> pl.DataFrame:
    """Tables of Klindt et al. (2021) in the form of :func:`method_scores`: means of 10 runs on the real data sets.

    1 and 2 are the main comparison, 14 and 15 PM-VAE, 16 to 20 the other grids, 21 and 22 the permuted control.
    """
    found = load("slow_comparison").filter(pl.col("table").is_in(list(tables)) & (pl.col("statistic") == "mean"))
    if not len(found):
        raise UsageError(f"tables must be among 1, 2, 14 to 22, got {list(tables)}")
    columns = (pl.col("percent") / 100).alias("mean"), (pl.col("spread") / 100).alias("sd")
    runs = pl.lit(10, pl.UInt32).alias("runs")
    return rank_methods(found.select("data", "metric", "method", *columns, runs, pl.lit(False).alias("stand_in")))


def rank_methods(scores: pl.DataFrame) -> pl.DataFrame:
    """Add ``rank`` and ``mark`` to means (``data``, ``metric``, ``method``, ``mean``, ``sd``, ``runs``)."""
    from scipy.stats import ttest_ind_from_stats

    marks: list[str | None] = [None] * len(scores)
    order = scores.with_row_index("_row")
    for _, cell in order.group_by(CELL, maintain_order=True):
        by_mean = cell.sort("mean", descending=True)
        if len(by_mean) < 2:
            continue
        for (here, other), mark in (((0, 1), "best"), ((-1, -2), "worst")):
            first, second = (by_mean.row(position, named=True) for position in (here, other))
            if min(first["runs"], second["runs"]) < 2 or not first["sd"] + second["sd"] > 0:
                continue
            groups = (entry[key] for entry in (first, second) for key in ("mean", "sd", "runs"))
            if ttest_ind_from_stats(*groups).pvalue < 0.05:
                marks[first["_row"]] = mark
    rank = pl.col("mean").rank("average", descending=True).over(CELL).alias("rank")
    return scores.with_columns(rank, pl.Series("mark", marks, dtype=pl.String))


def mean_ranks(scores: pl.DataFrame) -> pl.DataFrame:
    """``mean_rank`` of every ``method`` over the ``cells`` that all of them have, with quartiles; best first."""
    names, ranks = _rank_matrix(scores)
    lower, upper = np.quantile(ranks, [0.25, 0.75], axis=0)
    columns = {"method": names, "mean_rank": ranks.mean(axis=0), "lower": lower, "upper": upper}
    return pl.DataFrame({**columns, "cells": [len(ranks)] * len(names)}).sort("mean_rank", maintain_order=True)


def rank_tests(scores: pl.DataFrame, *, permutations: int = 100_000, seed: int = 0) -> pl.DataFrame:
    """For every two methods the difference of their mean ranks and how often chance gives one as large.

    If two methods were equal, their ranks in a cell could as well be swapped; ``p_value`` is two-sided, over all ways
    of swapping if they are at most ``permutations``, else over that many random ones. As published, it takes cells for
    independent, which scores of the same runs are not: for printed means alone. Of runs ask ``run_tests``.
    """
    if permutations < 1:
        raise UsageError(f"permutations must be at least 1, got {permutations}")
    names, ranks = _rank_matrix(scores)
    pairs = list(combinations(range(len(names)), 2))
    first, second = np.array(pairs, dtype=int).reshape(-1, 2).T
    differences = ranks[:, first] - ranks[:, second]  # [cells, pairs]
    cells = len(ranks)
    exact = 2**cells <= permutations
    count, total = np.zeros(len(pairs)), 2**cells if exact else permutations
    rng = np.random.default_rng(seed)
    observed = np.abs(differences.sum(axis=0)) - 1e-9
    for start in range(0, total, 4096):
        size = min(4096, total - start)
        if exact:
            bits = np.arange(start, start + size)[:, None] >> np.arange(cells) & 1
        else:
            bits = rng.integers(0, 2, size=(size, cells))
        count += (np.abs((1 - 2 * bits) @ differences) >= observed).sum(axis=0)
    return pl.DataFrame(
        {
            "first": [names[i] for i in first],
            "second": [names[i] for i in second],
            "difference": differences.mean(axis=0),
            # The observed order is one more that chance could have given.
            "p_value": count / total if exact else (count + 1) / (total + 1),
            "cells": [cells] * len(pairs),
        }
    )


def _rank_matrix(scores: pl.DataFrame) -> tuple[list[str], np.ndarray]:
    """Methods, and their ranks ``[cells, methods]`` in the cells that all of them have."""
    names = scores["method"].unique(maintain_order=True).to_list()
    wide = scores.pivot("method", index=CELL, values="rank").select(names).drop_nulls()
    if not len(wide):
        raise UsageError(
            f"no data set and score has all of the {len(names)} methods ({', '.join(names)}): they cannot be ranked; "
            "run what is missing, or compare fewer: method_scores(table, methods=[...])"
        )
    return names, wide.to_numpy().astype(float)


def _short(strength: float) -> str:
    return f"{strength:g}"


def _is_stand_in(data: str) -> bool | None:
    """Whether a data set imitates a published one, as its card says; null for one that is not known by name."""
    from unbraid.data import entry, parse
    from unbraid.study.grid import split_data

    try:
        return bool(entry(parse(split_data(data)[0])[0]).card.stands_in_for)
    except UsageError:
        return None

"""Is one method ahead of another, by more than the luck of runs? Each run counts once, with all its scores."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb, prod

import numpy as np
import polars as pl

from unbraid.errors import UsageError, unknown_name
from unbraid.study.analysis._table import rows_of
from unbraid.study.analysis.comparison import COMPARED, method_of

__all__ = ["run_tests"]


def run_tests(
    table: pl.DataFrame,
    *,
    metrics: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    permutations: int = 10_000,
    seed: int = 0,
) -> pl.DataFrame:
    """For every two methods the difference of their runs' mean ranks and how often chance gives one as large.

    Within a cell the runs of both methods are ranked together (1 is best). If the methods were equal, any run could as
    well be one of the other's, with all its scores at once: ``p_value`` is two-sided over ways of handing the runs of
    each data set out anew, all of them or ``permutations`` random ones. So seven scores of one run count as one
    piece of evidence. ``least`` is the smallest p-value that so few runs can give; above 0.05 nothing can be told.
    """
    if permutations < 1:
        raise UsageError(f"permutations must be at least 1, got {permutations}")
    if metrics is None:
        metrics = [name for name in COMPARED if name in table.columns]
    rows = rows_of(table, metrics).with_columns(method_of())
    names = rows["method"].unique(maintain_order=True).to_list() if methods is None else list(methods)
    for name in names:
        if name not in set(rows["method"]):
            raise unknown_name("method", name, rows["method"].unique(maintain_order=True).to_list())
    found = []
    for position, (first, second) in enumerate(combinations(names, 2)):
        strata, cells = [], 0
        for _, here in rows.filter(pl.col("method").is_in([first, second])).group_by("data", maintain_order=True):
            mine = (here["method"] == first).to_numpy()
            known = [name for name in metrics if not here[name].null_count()]
            if mine.all() or not mine.any() or not known:
                continue
            ranks = here.select(pl.col(known).rank("average", descending=True)).to_numpy().sum(axis=1)
            strata.append((mine, ranks))
            cells += len(known)
        if strata:
            difference, p_value, least = _shuffle(strata, cells, permutations, seed + position)
            found.append((first, second, difference, p_value, least, sum(len(mine) for mine, _ in strata), cells))
    names_of = ["first", "second", "difference", "p_value", "least", "runs", "cells"]
    kinds = [pl.String, pl.String, pl.Float64, pl.Float64, pl.Float64, pl.Int64, pl.Int64]
    return pl.DataFrame(found, schema=dict(zip(names_of, kinds, strict=True)), orient="row")


def _shuffle(
    strata: Sequence[tuple[np.ndarray, np.ndarray]], cells: int, permutations: int, seed: int
) -> tuple[float, float, float]:
    """Difference of mean ranks, its p-value over ways to hand out the runs of each stratum, and the least possible."""
    ways = [comb(len(mine), int(mine.sum())) for mine, _ in strata]
    total = prod(ways)

    def differ(mine: np.ndarray, ranks: np.ndarray) -> np.ndarray:
        """Of membership ``[..., runs]``."""
        return mine @ ranks / mine.sum(-1) - (~mine) @ ranks / (~mine).sum(-1)

    observed = sum(float(differ(mine, ranks)) for mine, ranks in strata)
    if total <= permutations:
        sums = np.zeros(1)
        for mine, ranks in strata:
            chosen = np.zeros((comb(len(mine), int(mine.sum())), len(mine)), dtype=bool)
            for row, picked in enumerate(combinations(range(len(mine)), int(mine.sum()))):
                chosen[row, list(picked)] = True
            sums = (sums[:, None] + differ(chosen, ranks)).ravel()
        extreme = float((np.abs(sums) >= abs(observed) - 1e-9).mean())
    else:
        rng = np.random.default_rng(seed)
        sums = np.zeros(permutations)
        for mine, ranks in strata:
            sums += differ(rng.permuted(np.tile(mine, (permutations, 1)), axis=1), ranks)
        extreme = (float((np.abs(sums) >= abs(observed) - 1e-9).sum()) + 1) / (permutations + 1)
    return observed / cells, extreme, min(1.0, 2 / min(total, permutations + 1))

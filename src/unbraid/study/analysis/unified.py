"""Where disagreement of scores comes from, and scores freed of what accuracy explains (Locatello et al., 2020)."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl

from unbraid.errors import UsageError
from unbraid.metrics import AGGREGATIONS, MATRICES
from unbraid.study.analysis._table import rows_of, spearman

__all__ = ["adjusted", "matrix_or_aggregation"]


def matrix_or_aggregation(
    table: pl.DataFrame, *, data: str | None = None, representation: str = "mean"
) -> pl.DataFrame:
    """Do two scores disagree because of what they measure or because of how they sum it up?

    From the fifteen columns of the score ``unified``: rank correlations over runs of every two that share the
    aggregation (and differ in the matrix), that share the matrix, and that share neither. One row per data set and
    kind, ``same``: ``aggregation``, ``matrix`` or ``neither``; mean, least and greatest ``correlation``, and how many
    ``pairs`` of scores it is of. Where scores that share the matrix agree and those that share the aggregation do not,
    the matrix is what matters.
    """
    columns = {(m, a): f"unified_{m}_{a}" for m in MATRICES for a in AGGREGATIONS}
    rows = rows_of(table, tuple(columns.values()), representation=representation, data=data)
    found = []
    for name, own in sorted(rows.group_by("data"), key=lambda group: str(group[0][0])):
        kinds: dict[str, list[float]] = {"aggregation": [], "matrix": [], "neither": []}
        numbers = own.select(columns.values()).cast(pl.Float64).fill_null(float("nan")).to_numpy()
        agreement, _ = spearman(numbers, numbers)
        for (i, one), (j, other) in combinations(enumerate(columns), 2):
            if np.isfinite(agreement[i, j]):
                same = "matrix" if one[0] == other[0] else "aggregation" if one[1] == other[1] else "neither"
                kinds[same].append(float(agreement[i, j]))
        for same, values in kinds.items():
            told = (float(np.mean(values)), min(values), max(values)) if values else (None, None, None)
            found.append((name[0], same, *told, len(values)))
    schema = {"data": pl.String, "same": pl.String, "correlation": pl.Float64, "least": pl.Float64}
    schema |= {"greatest": pl.Float64, "pairs": pl.Int64}
    return pl.DataFrame(found, schema=schema, orient="row")


def adjusted(table: pl.DataFrame, score: str, by: str, *, k: int = 5) -> pl.Series:
    """A score minus its mean over the ``k`` other rows nearest in ``by``: what ``by`` does not explain.

    ``adjusted(table, "unfairness", "gbt_10000")`` is the unfairness that runs of like accuracy do not have. Rows that
    lack either number are null.

    >>> table = pl.DataFrame({"score": [1.0, 2.0, 3.0, 9.0], "by": [0.1, 0.2, 0.31, 0.35]})
    >>> adjusted(table, "score", "by", k=1).to_list()
    [-1.0, 1.0, -6.0, 6.0]
    """
    for column in (score, by):
        if column not in table.columns:
            raise UsageError(f"the table has no column {column!r}; it has {', '.join(table.columns)}")
    values, near = (table[column].cast(pl.Float64).to_numpy() for column in (score, by))
    known = np.flatnonzero(np.isfinite(values) & np.isfinite(near))
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k < max(len(known), 1):
        raise UsageError(f"k must lie in 1..{max(len(known) - 1, 1)}, below the {len(known)} rows with both, got {k!r}")
    found: list[float | None] = [None] * table.height
    distances = np.abs(near[known][:, None] - near[known])
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
    for row, others in zip(known, nearest, strict=True):
        found[int(row)] = float(values[row] - values[known[others]].mean())
    return pl.Series(f"{score}_adjusted", found, dtype=pl.Float64)

"""Do ways of leaving the training domain agree on which model is the better one? Rank correlations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unbraid.errors import UsageError

__all__ = ["agreement", "agreement_within"]

FEWEST = 3
"""Ranks of fewer models are not compared."""


def agreement(values: np.ndarray) -> np.ndarray:
    """Spearman's rank correlation of every two scenarios over models: ``[S, S]`` from ``[models, S]``.

    Models that lack a number count where they have both; not a number where fewer than three have, or where all rank
    the same.

    >>> agreement(np.array([[1.0, 10.0, 3.0], [2.0, 20.0, 2.0], [3.0, 40.0, 1.0]])).tolist()
    [[1.0, 1.0, -1.0], [1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]]
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2:
        raise UsageError(f"values must be [models, scenarios], got shape {list(table.shape)}")
    count = table.shape[1]
    found = np.full((count, count), np.nan)
    for i in range(count):
        for j in range(i, count):
            rows = np.isfinite(table[:, [i, j]]).all(axis=1)
            found[i, j] = found[j, i] = _correlated(table[rows, i], table[rows, j])
    return found


def agreement_within(values: np.ndarray, groups: Sequence[object]) -> tuple[np.ndarray, np.ndarray]:
    """The same over models that differ in their seed alone, averaged over groups, and of how many groups: ``[S, S]``.

    A high agreement over all models with none here says that scenarios agree on recipes and not on runs: what one run
    does outside the training domain is then left open by its recipe.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or len(groups) != len(table):
        raise UsageError(f"values must be [models, scenarios] with a group each, got {table.shape}, {len(groups)}")
    names = list(dict.fromkeys(groups))
    each = [agreement(table[[place for place, name in enumerate(groups) if name == one]]) for one in names]
    stack = np.stack(each) if each else np.full((0, table.shape[1], table.shape[1]), np.nan)
    known = np.isfinite(stack)
    counts = known.sum(axis=0)
    total = np.where(known, stack, 0.0).sum(axis=0)
    return np.divide(total, counts, out=np.full(counts.shape, np.nan), where=counts > 0), counts


def _correlated(first: np.ndarray, second: np.ndarray) -> float:
    from scipy.stats import rankdata

    if len(first) < FEWEST:
        return float("nan")
    a, b = (rankdata(column) - (len(column) + 1) / 2 for column in (first, second))
    length = float(np.sqrt((a @ a) * (b @ b)))
    return round(float(a @ b) / length, 12) if length else float("nan")

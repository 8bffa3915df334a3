"""Question 2: do the scores agree with each other? (Locatello et al., 2019, section 5.3)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from unbraid.errors import UsageError
from unbraid.study.analysis._heat import draw_heat_maps
from unbraid.study.analysis._style import styled
from unbraid.study.analysis._table import METRICS, correlate, rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["metric_agreement", "plot_metric_agreement"]


def metric_agreement(
    table: pl.DataFrame,
    *,
    metrics: Sequence[str] = METRICS,
    data: str | None = None,
    representation: str = "mean",
) -> pl.DataFrame:
    """Spearman's rank correlation of every pair of scores over the runs of a data set.

    One row per data set and ordered pair ``metric``, ``other``: ``correlation`` (null when a score is constant or fewer
    than three runs have both) and ``runs``. The study's finding: all but modularity agree mildly.
    """
    if len(metrics) < 2:
        raise UsageError(f"agreement needs at least two metrics, got {list(metrics)}")
    rows = rows_of(table, metrics, representation=representation, data=data)
    return correlate(rows.sort("data"), metrics, metrics, ("metric", "other"))


@styled
def plot_metric_agreement(agreement: pl.DataFrame) -> Figure:
    """Heat maps in percent of :func:`metric_agreement`, one per data set."""
    return draw_heat_maps(agreement, "metric", "other", "data")

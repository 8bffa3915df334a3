"""Do disentangled codes learn abstract reasoning from fewer samples? (van Steenkiste et al., 2019)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from unbraid.errors import UsageError
from unbraid.study.analysis._heat import draw_heat_maps
from unbraid.study.analysis._joined import joined
from unbraid.study.analysis._style import styled
from unbraid.study.analysis._table import METRICS, correlate, metrics_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_reasoning_vs_metrics", "reasoning_vs_metrics"]

_OWN = ("area", "answers_only")
"""What the measure gives once per run, where ``samples`` is 0."""


def reasoning_vs_metrics(
    table: pl.DataFrame,
    *,
    metrics: Sequence[str] | None = None,
    data: str | None = None,
    representation: str = "mean",
) -> pl.DataFrame:
    """Rank correlation over runs of scores with what the measure ``reasoning`` found, per number of samples.

    One row per data set, ``samples`` (matrices seen; null for the area under the curve) and ``metric``: ``correlation``
    over ``runs``, their mean ``accuracy`` (or area), and ``answers_only``, the mean of what a vote on the answers
    alone gets: where accuracy is not above it, there is nothing to correlate. The published finding is a correlation
    at few samples that is gone at many.
    """
    scores = metrics_of(table) if metrics is None else tuple(metrics)
    if not scores:
        raise UsageError(f"the table has none of the study's scores to correlate; add one of {', '.join(METRICS)}")
    columns = [_named(table, name) for name in ("accuracy", *_OWN)]
    rows = joined(table, ["samples"], columns, scores, measure="reasoning", data=data, representation=representation)
    rows = rows.rename(dict(zip(columns, ("accuracy", *_OWN), strict=True)))
    once = rows.filter(pl.col("samples") == 0).with_columns(samples=None, accuracy="area")
    curve = rows.filter(pl.col("samples") > 0).with_columns(pl.col("samples").cast(pl.Int64))
    both = pl.concat([curve, once], how="diagonal_relaxed").sort("data", "samples", nulls_last=True)
    if not len(both):
        raise UsageError("no run of the table has reasoning and a score beside it; measure both, of the same runs")
    told = both.group_by("data", "samples").agg(pl.col("accuracy").mean())
    votes = once.group_by("data").agg(pl.col("answers_only").mean())
    found = correlate(both, ["accuracy"], scores, ("what", "metric"), ("data", "samples")).drop("what")
    found = found.with_columns(pl.col("samples").cast(pl.Int64))
    return found.join(told, on=["data", "samples"], nulls_equal=True, how="left", maintain_order="left").join(
        votes, on="data", how="left", maintain_order="left"
    )


@styled
def plot_reasoning_vs_metrics(found: pl.DataFrame) -> Figure:
    """Heat maps in percent of :func:`reasoning_vs_metrics`, one per data set."""
    samples = pl.col("samples").cast(pl.String).fill_null("area")
    return draw_heat_maps(found.with_columns(samples), "metric", "samples", "data")


def _named(table: pl.DataFrame, name: str) -> str:
    """A column of the measure: with its name before it where another measure uses the word."""
    return f"reasoning_{name}" if f"reasoning_{name}" in table.columns else name

"""Question 4: can good models be chosen without labels, by strength or by label-free quantities? (section 5.5)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from unbraid.errors import UsageError
from unbraid.study.analysis._heat import draw_heat_maps
from unbraid.study.analysis._strength import draw_curves, summarise_runs
from unbraid.study.analysis._style import label, styled
from unbraid.study.analysis._table import METRICS, SETTING, correlate, rows_of, spearman

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "UNSUPERVISED",
    "plot_strength_curves",
    "plot_transfer_between_data",
    "plot_unsupervised_vs_metrics",
    "strength_curves",
    "transfer_between_data",
    "unsupervised_vs_metrics",
]

UNSUPERVISED = ("reconstruction", "kl", "elbo", "gaussian_total_correlation")
"""Quantities that need no labels and every study has."""
_IF_THERE = ("regularizer", "udr")


def strength_curves(
    table: pl.DataFrame,
    *,
    metrics: Sequence[str] = METRICS,
    data: str | None = None,
    representation: str = "mean",
) -> pl.DataFrame:
    """Median and quartiles of each score over seeds, per data set and setting; the study found no common trend."""
    return summarise_runs(rows_of(table, metrics, representation=representation, data=data), metrics)


@styled
def plot_strength_curves(curves: pl.DataFrame, *, leave_out: Sequence[str] = ("annealed-vae",)) -> Figure:
    """Curves of :func:`strength_curves`: data sets down, scores across."""
    shown = curves.filter(~pl.col("objective").is_in(list(leave_out)))
    metrics = [name for name in (*METRICS, *shown["metric"].unique().sort()) if name in set(shown["metric"])]
    order = list(dict.fromkeys(metrics))
    return draw_curves(shown, panels="metric", order=order, titles={name: label(name) for name in order})


def unsupervised_vs_metrics(
    table: pl.DataFrame,
    *,
    quantities: Sequence[str] | None = None,
    metrics: Sequence[str] = METRICS,
    data: str | None = None,
    representation: str = "mean",
) -> pl.DataFrame:
    """Rank correlation over runs of label-free quantities with scores, per data set.

    By default reconstruction, KL, ELBO and total correlation, and also the regulariser and UDR where the table has
    them. A quantity that pointed to good models would correlate strongly, with one sign, on every data set.
    """
    if quantities is None:
        quantities = (*UNSUPERVISED, *(name for name in _IF_THERE if name in table.columns))
    rows = rows_of(table, [*quantities, *metrics], representation=representation, data=data)
    return correlate(rows.sort("data"), quantities, metrics, ("quantity", "metric"))


@styled
def plot_unsupervised_vs_metrics(correlations: pl.DataFrame) -> Figure:
    """Heat maps in percent of :func:`unsupervised_vs_metrics`, one per data set."""
    return draw_heat_maps(correlations, "quantity", "metric", "data")


def transfer_between_data(
    table: pl.DataFrame,
    *,
    metrics: Sequence[str] = METRICS,
    pairing: Literal["runs", "settings"] = "runs",
    representation: str = "mean",
) -> pl.DataFrame:
    """Rank correlation of a score between two data sets: does what is good on one do well on the other?

    ``"runs"`` pairs runs of equal objective, strength and seed; ``"settings"`` pairs the means over seeds of each
    setting, free of the seeds' noise. One row per score and ordered pair ``source``, ``target``; ``pairs`` counts them.
    """
    if pairing not in ("runs", "settings"):
        raise UsageError(f"pairing must be 'runs' or 'settings', got {pairing!r}")
    rows = rows_of(table, metrics, representation=representation)
    keys = [*SETTING, "seed"] if pairing == "runs" else [*SETTING]
    means = rows.group_by("data", *keys).agg(pl.col(*metrics).mean())
    sets = means["data"].unique().sort().to_list()
    if len(sets) < 2:
        raise UsageError(f"transfer needs two data sets, and all runs are on one data set ({', '.join(sets)})")
    wide = means.pivot("data", index=keys, values=list(metrics))
    parts = []
    for metric in metrics:
        names = sets if len(metrics) == 1 else [f"{metric}_{name}" for name in sets]
        values = wide.select(names).to_numpy().astype(float)
        found, counts = spearman(values, values)
        parts.append(
            pl.DataFrame(
                {
                    "metric": [metric] * found.size,
                    "source": np.repeat(sets, len(sets)),
                    "target": np.tile(sets, len(sets)),
                    "correlation": found.ravel(),
                    "pairs": counts.ravel(),
                }
            )
        )
    return pl.concat(parts).with_columns(pl.col("correlation").fill_nan(None))


@styled
def plot_transfer_between_data(correlations: pl.DataFrame) -> Figure:
    """Heat maps in percent of :func:`transfer_between_data`, one per score."""
    return draw_heat_maps(correlations, "source", "target", "metric", across=3)

"""Question 3, in pictures: how scores spread within an objective and within a strength."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from unbraid.errors import UsageError
from unbraid.study.analysis._style import GRID, INK, colours, label, new_figure, panels, styled
from unbraid.study.analysis._table import METRICS, SETTING, rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_spread_by_objective", "plot_spread_by_strength", "score_spread"]


def score_spread(
    table: pl.DataFrame,
    *,
    metrics: Sequence[str] = METRICS,
    data: str | None = None,
    representation: str = "mean",
) -> pl.DataFrame:
    """The scores of all runs as a long table: data set, setting, seed, ``metric``, ``value``."""
    rows = rows_of(table, metrics, representation=representation, data=data)
    keys = ["data", *SETTING, "seed"]
    return rows.unpivot(metrics, index=keys, variable_name="metric", value_name="value").drop_nulls("value")


@styled
def plot_spread_by_objective(spread: pl.DataFrame) -> Figure:
    """Violins of :func:`score_spread` per objective, all strengths and seeds together."""
    sets = spread["data"].unique(maintain_order=True).sort().to_list()
    metrics = spread["metric"].unique(maintain_order=True).to_list()
    shades = colours(spread["objective"].to_list())
    objectives = list(shades)
    width = max(2.0, 0.34 * len(objectives) + 0.8)
    figure, axes = new_figure(len(sets), len(metrics), width, 2.0, sharex=True, sharey="col")
    for row, name in enumerate(sets):
        for column, metric in enumerate(metrics):
            here = spread.filter((pl.col("data") == name) & (pl.col("metric") == metric))
            values = [here.filter(pl.col("objective") == objective)["value"].to_numpy() for objective in objectives]
            _violins(axes[row, column], values, list(shades.values()))
            if row == 0:
                axes[row, column].set_title(label(metric))
        axes[row, 0].set_ylabel(name)
    for axis in axes[-1]:
        axis.set_xticks(range(len(objectives)), [label(name) for name in objectives], rotation=40, ha="right")
    return figure


@styled
def plot_spread_by_strength(spread: pl.DataFrame, *, objective: str, metric: str) -> Figure:
    """Violins of one score per strength of one objective, seeds only, a panel per data set.

    The study shows the FactorVAE score of FactorVAE on Cars3D this way: good and bad seeds overlap across strengths.
    """
    here = spread.filter((pl.col("objective") == objective) & (pl.col("metric") == metric))
    if not len(here):
        had = ", ".join(spread["objective"].unique().sort().to_list())
        raise UsageError(f"no run of objective {objective!r} has metric {metric!r}; the objectives are {had}")
    sets = here["data"].unique(maintain_order=True).sort().to_list()
    strengths = here["strength"].unique().sort().to_list()
    shade = colours([objective])[objective]
    figure, axes = panels(len(sets), 4, max(2.2, 0.5 * len(strengths) + 0.8), 2.4, sharey=True)
    for axis, name in zip(axes, sets, strict=True):
        rows = here.filter(pl.col("data") == name)
        values = [rows.filter(pl.col("strength").eq_missing(strength))["value"].to_numpy() for strength in strengths]
        _violins(axis, values, [shade] * len(values))
        axis.set_xticks(range(len(strengths)), ["-" if value is None else f"{value:g}" for value in strengths])
        axis.set_title(name)
    figure.supxlabel(f"{label(objective)}: {here['strength_name'][0] or 'strength'}", fontsize=9)
    figure.supylabel(label(metric), fontsize=9)
    return figure


def _violins(axis: Any, groups: Sequence[np.ndarray], shades: Sequence[str]) -> None:
    for position, (values, shade) in enumerate(zip(groups, shades, strict=True)):
        if len(values) > 2 and np.ptp(values) > 0:
            body = axis.violinplot([values], [position], widths=0.85, showextrema=False)["bodies"][0]
            body.set(facecolor=shade, alpha=0.35, edgecolor=shade)
        # Few runs say more as points than as a smoothed outline.
        if 0 < len(values) <= 12:
            axis.scatter(np.full(len(values), position), values, s=9, color=shade, linewidths=0)
        if len(values):
            axis.hlines(np.median(values), position - 0.22, position + 0.22, color=INK, linewidth=1.6)
    axis.set_xlim(-0.6, len(groups) - 0.4)
    axis.grid(axis="y", color=GRID)

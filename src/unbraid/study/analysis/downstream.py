"""Question 5: do disentangled codes help a classifier, and do they help it with fewer labels? (section 5.6)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from unbraid.study.analysis._heat import draw_heat_maps
from unbraid.study.analysis._style import GRID, colours, label, panels, styled
from unbraid.study.analysis._table import METRICS, SETTING, correlate, require, rows_of, tasks_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["downstream_pairs", "downstream_vs_metrics", "plot_downstream_pairs", "plot_downstream_vs_metrics"]


def downstream_vs_metrics(
    table: pl.DataFrame,
    *,
    tasks: Sequence[str] | None = None,
    metrics: Sequence[str] = METRICS,
    data: str | None = None,
    representation: str = "mean",
) -> pl.DataFrame:
    """Rank correlation over runs of scores with downstream accuracy and statistical efficiency, per data set.

    ``tasks`` are columns such as ``lr_100`` (logistic regression on 100 labels) and ``gbt_efficiency`` (accuracy of
    boosted trees on 100 labels over that on 10,000); by default all that the table has.
    """
    chosen = tasks_of(table) if tasks is None else tuple(tasks)
    rows = rows_of(table, [*metrics, *chosen], representation=representation, data=data)
    return correlate(rows.sort("data"), metrics, chosen, ("metric", "task"))


@styled
def plot_downstream_vs_metrics(correlations: pl.DataFrame) -> Figure:
    """Heat maps in percent of :func:`downstream_vs_metrics`, one per data set."""
    return draw_heat_maps(correlations, "metric", "task", "data", across=2)


def downstream_pairs(
    table: pl.DataFrame,
    *,
    metric: str = "factor_vae",
    task: str = "gbt_efficiency",
    data: str | None = None,
    representation: str = "mean",
) -> pl.DataFrame:
    """One row per run: its score (``score``) and its downstream result (``result``), with their names."""
    require(table, (metric, task))
    rows = rows_of(table, [metric, task], representation=representation, data=data).drop_nulls([metric, task])
    names = {"metric": pl.lit(metric), "task": pl.lit(task)}
    return rows.select("data", *SETTING, "seed", score=metric, result=task, **names)


@styled
def plot_downstream_pairs(pairs: pl.DataFrame) -> Figure:
    """Scatter of :func:`downstream_pairs`, a panel per data set, with its rank correlation ρ."""
    sets = pairs["data"].unique(maintain_order=True).sort().to_list()
    figure, axes = panels(len(sets), 4, 2.9, 2.7)
    shades = colours(pairs["objective"].to_list())
    found = correlate(pairs.sort("data"), ["score"], ["result"], ("a", "b")) if len(pairs) else None
    for axis, name in zip(axes, sets, strict=True):
        here = pairs.filter(pl.col("data") == name)
        for objective, shade in shades.items():
            runs = here.filter(pl.col("objective") == objective)
            axis.scatter(runs["score"], runs["result"], s=15, color=shade, alpha=0.75, linewidths=0)
        assert found is not None
        value = found.filter(pl.col("data") == name)["correlation"][0]
        axis.set_title(name if value is None else f"{name} (ρ = {value:.2f})")
        axis.grid(color=GRID)
    figure.supxlabel(label(pairs["metric"][0]), fontsize=9)
    figure.supylabel(label(pairs["task"][0]), fontsize=9)
    handles = [axes[0].scatter([], [], s=22, color=shade, label=label(name)) for name, shade in shades.items()]
    figure.legend(handles=handles, loc="outside right upper")
    return figure

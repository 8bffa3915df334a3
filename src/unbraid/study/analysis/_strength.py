"""Quantities against regularisation strength: the summary over seeds and the curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unbraid.study.analysis._style import GRID, colours, label, new_figure
from unbraid.study.analysis._table import SETTING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_curves", "summarise_runs"]

_MARKERS = "osD^vPX*"


def summarise_runs(rows: pl.DataFrame, columns: Sequence[str], extra: Sequence[str] = ()) -> pl.DataFrame:
    """Median, quartiles and number of runs of each column, per data set and setting, as a long table."""
    keys = ["data", *SETTING, *extra]
    long = rows.unpivot(columns, index=keys, variable_name="metric", value_name="value").drop_nulls("value")
    value = pl.col("value")
    return (
        long.group_by(*keys, "metric")
        .agg(
            runs=pl.len(),
            low=value.quantile(0.25, "linear"),
            median=value.median(),
            high=value.quantile(0.75, "linear"),
        )
        .sort("metric", *keys)
    )


def draw_curves(
    curves: pl.DataFrame,
    *,
    panels: str,
    order: Sequence[str],
    titles: Mapping[str, str],
    ylabel: str = "",
    logarithmic: bool = False,
    share: bool = False,
) -> Figure:
    """Medians with bands between the quartiles; rows are data sets, columns the values of ``panels``.

    Strengths of different objectives have different units, so every objective's are spread evenly from weakest to
    strongest; the numbers stand in the table.
    """
    sets = curves["data"].unique(maintain_order=True).sort().to_list()
    figure, axes = new_figure(max(len(sets), 1), len(order), 2.7, 2.2, sharey="row" if share else False)
    shades = colours(curves["objective"].to_list())
    marks = dict(zip(shades, _MARKERS * len(shades), strict=False))
    steps = curves.group_by("objective").agg(pl.col("strength").unique().sort())
    places = {
        objective: {strength: step / max(len(found) - 1, 1) for step, strength in enumerate(found)}
        for objective, found in steps.iter_rows()
    }
    for row, name in enumerate(sets):
        for column, panel in enumerate(order):
            axis = axes[row, column]
            here = curves.filter((pl.col("data") == name) & (pl.col(panels) == panel))
            for objective, shade in shades.items():
                line = here.filter(pl.col("objective") == objective).sort("strength")
                x = np.array([places[objective][strength] for strength in line["strength"]])
                axis.fill_between(x, line["low"], line["high"], color=shade, alpha=0.14, linewidth=0)
                axis.plot(x, line["median"], color=shade, marker=marks[objective], markersize=4, linewidth=1.5)
            axis.set_xlim(-0.06, 1.06)
            axis.set_xticks([0, 1], ["weakest", "strongest"])
            for tick, side in zip(axis.get_xticklabels(), ("left", "right"), strict=True):
                tick.set_horizontalalignment(side)
            axis.grid(axis="y", color=GRID)
            if logarithmic and len(here) and here["low"].to_numpy().min() > 0:
                axis.set_yscale("log")
            if row == 0:
                axis.set_title(titles.get(panel, panel))
        axes[row, 0].set_ylabel(f"{name}\n{ylabel}" if ylabel else name)
    for axis in axes[-1]:
        axis.set_xlabel("strength")
    handles = [
        axes[0, 0].plot([], [], color=shade, marker=marks[name], markersize=4, label=label(name))[0]
        for name, shade in shades.items()
    ]
    figure.legend(handles=handles, loc="outside right upper")
    return figure

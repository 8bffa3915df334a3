"""Several heat maps of rank correlations in one figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unbraid.errors import UsageError
from unbraid.study.analysis._style import heat_map, label
from unbraid.study.analysis._style import panels as panels_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_heat_maps"]


def draw_heat_maps(table: pl.DataFrame, rows: str, columns: str, panels: str, *, across: int = 4) -> Figure:
    """``correlation`` by the values of ``rows`` and ``columns``, a panel for each value of ``panels``."""
    if not len(table):
        raise UsageError("the table of correlations is empty: nothing to draw")
    names = [table[column].unique(maintain_order=True).to_list() for column in (panels, rows, columns)]
    high, wide = (len(name) for name in names[1:])
    width = min(len(names[0]), across)
    figure, axes = panels_of(len(names[0]), across, 0.46 * wide + 1.2, 0.34 * high + 1.1)
    for axis, panel in zip(axes, names[0], strict=True):
        values = np.full((high, wide), np.nan)
        cells = table.filter(pl.col(panels) == panel)
        for row, column, value in cells.select(rows, columns, "correlation").iter_rows():
            values[names[1].index(row), names[2].index(column)] = np.nan if value is None else value
        image = heat_map(axis, values, names[1], names[2], label(panel))
    # Only the outer panels are labelled: the grid is the same everywhere.
    for position, axis in enumerate(axes):
        if position % width:
            axis.set_yticklabels([])
        if position + width < len(names[0]):
            axis.set_xticklabels([])
    bar = figure.colorbar(image, ax=axes, shrink=0.75, pad=0.015, aspect=28)
    bar.set_label("rank correlation (%)")
    bar.outline.set_visible(False)
    return figure

"""Question 3: how much do objective, strength and seed matter? (Locatello et al., 2019, section 5.4)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unbraid.study.analysis._style import GRID, INK, PALETTE, label, new_figure, styled
from unbraid.study.analysis._table import METRICS, SETTING, rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["GROUPINGS", "adjusted_share", "plot_variance_explained", "variance_explained"]

GROUPINGS: dict[str, tuple[str, ...]] = {"objective": ("objective",), "objective x strength": SETTING}
"""What scores are explained by, and the columns that make the groups."""


def variance_explained(
    table: pl.DataFrame,
    *,
    metrics: Sequence[str] = METRICS,
    data: str | None = None,
    representation: str = "mean",
) -> pl.DataFrame:
    """Share of a score's variance over runs, in percent, that the objective or the setting explains.

    ``explained`` is ``100 (1 - SS_within / SS_total)``, the unadjusted R^2 of a regression on one indicator per group,
    as in the study. What is left is the seeds'. Even pure noise is explained in part: ``noise`` is what is expected of
    it, ``100 (groups - 1) / (runs - 1)``, and in a small study it is large. ``adjusted`` corrects for it (0 for noise;
    null when no group has two runs). A score that never varies has nothing to explain: null.
    """
    rows = rows_of(table, metrics, representation=representation, data=data)
    parts = []
    for by, columns in GROUPINGS.items():
        long = rows.unpivot(
            metrics, index=list(dict.fromkeys(("data", *columns))), variable_name="metric", value_name="value"
        ).drop_nulls("value")
        # Distances from the data set's mean: sums of squares of scores near 1 would lose digits.
        centred = long.with_columns(pl.col("value") - pl.col("value").mean().over("data", "metric"))
        within = centred.group_by("data", "metric", *columns).agg(
            count=pl.len(),
            inner=((pl.col("value") - pl.col("value").mean()) ** 2).sum(),
            outer=(pl.col("value") ** 2).sum(),
        )
        parts.append(
            within.group_by("data", "metric")
            .agg(groups=pl.len(), runs=pl.col("count").sum(), inner=pl.col("inner").sum(), outer=pl.col("outer").sum())
            .with_columns(by=pl.lit(by))
        )
    share = 1 - pl.col("inner") / pl.col("outer")
    groups, runs = pl.col("groups").cast(pl.Float64), pl.col("runs").cast(pl.Float64)
    order = pl.Enum([*dict.fromkeys(metrics)])
    return (
        pl.concat(parts)
        .with_columns(share=pl.when(pl.col("outer") > 1e-24 * runs).then(share))
        .select(
            "data",
            "metric",
            "by",
            "groups",
            "runs",
            explained=100 * pl.col("share"),
            noise=pl.when(runs > 1).then(100 * (groups - 1) / (runs - 1)),
        )
        .with_columns(adjusted=adjusted_share("explained", runs, groups))
        .sort(pl.col("data"), pl.col("metric").cast(order), pl.col("by"))
    )


def adjusted_share(column: str, runs: pl.Expr | int, groups: pl.Expr | int) -> pl.Expr:
    """A share in percent, adjusted for what noise would explain; null where no group has two runs.

    >>> pl.DataFrame({"explained": [36.0]}).select(adjusted_share("explained", 90, 6)).item()  # 64 % of 89 / 84 is left
    32.19...
    """
    freedom = pl.lit(runs) - groups if isinstance(runs, int) else runs - groups
    left = (100 - pl.col(column)) * (runs - 1) / freedom
    return pl.when(freedom > 0).then(100 - left)


@styled
def plot_variance_explained(explained: pl.DataFrame, *, published: pl.DataFrame | None = None) -> Figure:
    """Bars of :func:`variance_explained`, a row per data set; the line across a bar is what noise would reach.

    Diamonds are published values, if ``published`` (of :func:`unbraid.study.published.load`) has the data set.
    """
    sets = explained["data"].unique(maintain_order=True).to_list()
    metrics = explained["metric"].unique(maintain_order=True).to_list()
    figure, axes = new_figure(len(sets), 1, 1.1 * len(metrics) + 1.6, 1.7, sharex=True)
    for axis, name in zip(axes[:, 0], sets, strict=True):
        for offset, (by, colour) in enumerate(zip(GROUPINGS, PALETTE, strict=False)):
            x = np.arange(len(metrics)) + 0.4 * offset - 0.2
            height, noise = (_cells(explained, name, by, metrics, column) for column in ("explained", "noise"))
            axis.bar(x, height, 0.36, color=colour, label=by)
            axis.hlines(
                noise, x - 0.18, x + 0.18, color=INK, linewidth=1.6, label="expected of noise" if offset else None
            )
            if published is not None:
                known = _cells(published, name, by, metrics, "explained")
                seen = np.isfinite(known)
                axis.scatter(
                    x[seen], known[seen], marker="D", s=22, color="white", edgecolors=INK, zorder=3, clip_on=False,
                    label="published" if offset and seen.any() else None,
                )  # fmt: skip
        axis.set_xticks(range(len(metrics)), [label(metric) for metric in metrics])
        axis.set_ylim(0, 100)
        axis.set_yticks(range(0, 101, 25))
        axis.grid(axis="y", color=GRID)
        axis.set_title(name)
        axis.set_ylabel("explained (%)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper")
    return figure


def _cells(table: pl.DataFrame, data: str, by: str, metrics: Sequence[str], column: str) -> np.ndarray:
    here = table.filter((pl.col("data") == data) & (pl.col("by") == by))
    values = dict(here.select("metric", column).iter_rows())
    return np.array([np.nan if values.get(metric) is None else values[metric] for metric in metrics])

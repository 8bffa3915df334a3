"""Question 1: do the objectives make codes uncorrelated? (Locatello et al., 2019, section 5.2)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unbraid.errors import UsageError
from unbraid.study.analysis._strength import draw_curves, summarise_runs
from unbraid.study.analysis._style import GRID, QUIET, colours, label, panels, styled
from unbraid.study.analysis._table import SETTING, rows_of, spearman

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "correlation_of_codes",
    "correlation_pairs",
    "correlation_trend",
    "plot_correlation_of_codes",
    "plot_correlation_pairs",
]

_SCORE = "gaussian_total_correlation"


def correlation_of_codes(table: pl.DataFrame, *, score: str = _SCORE, data: str | None = None) -> pl.DataFrame:
    """Total correlation of mean and of sampled codes per setting: median and quartiles over seeds.

    ``score`` may also be ``"pairwise_mutual_information"``. The study's finding: that of sampled codes falls with the
    strength, that of mean codes does not.
    """
    rows = rows_of(table, [score], representation=None, data=data)
    return summarise_runs(rows, [score], extra=("representation",)).rename({"metric": "score"})


def correlation_trend(table: pl.DataFrame, *, score: str = _SCORE, data: str | None = None) -> pl.DataFrame:
    """Rank correlation of the total correlation with the strength, per data set, objective and representation.

    -1: falls with every step of the strength; +1: rises. Read that of ``annealed-vae`` with the opposite sign: a larger
    capacity means less regularisation.
    """
    rows = rows_of(table, [score], representation=None, data=data)
    parts = []
    for keys, group in rows.group_by("data", "objective", "representation", maintain_order=True):
        values = group.select("strength", score).to_numpy().astype(float)
        trend, runs = spearman(values[:, :1], values[:, 1:])
        names = dict(zip(("data", "objective", "representation"), keys, strict=True))
        parts.append({**names, "trend": float(trend[0, 0]), "runs": int(runs[0, 0])})
    frame = pl.DataFrame(parts, schema_overrides={"trend": pl.Float64})
    return frame.with_columns(pl.col("trend").fill_nan(None)).sort("data", "objective", "representation")


def correlation_pairs(table: pl.DataFrame, *, score: str = _SCORE, data: str | None = None) -> pl.DataFrame:
    """One row per run: total correlation of its mean codes and of its sampled codes."""
    rows = rows_of(table, [score], representation=None, data=data)
    kinds = set(rows["representation"].to_list())
    if not {"mean", "sampled"} <= kinds:
        raise UsageError(
            f"the table has representations {sorted(kinds)}, this needs mean and sampled; "
            "let the study evaluate both and run `unbraid study run FILE` again"
        )
    keys = ["data", *SETTING, "seed"]
    sides = [
        rows.filter(pl.col("representation") == kind).select(*keys, pl.col(score).alias(kind))
        for kind in ("mean", "sampled")
    ]
    return sides[0].join(sides[1], on=keys, how="inner", nulls_equal=True).drop_nulls(["mean", "sampled"]).sort(keys)


@styled
def plot_correlation_of_codes(
    curves: pl.DataFrame, *, leave_out: Sequence[str] = ("annealed-vae",), logarithmic: bool = False
) -> Figure:
    """Curves against strength from :func:`correlation_of_codes`: a row per data set, sampled and mean codes apart.

    ``annealed-vae`` is left out, as in the study: its strength counts the other way round.
    """
    shown = curves.filter(~pl.col("objective").is_in(list(leave_out)))
    names = {"sampled": "sampled codes", "mean": "mean codes"}
    return draw_curves(
        shown,
        panels="representation",
        order=("sampled", "mean"),
        titles=names,
        ylabel=f"{label(shown['score'][0])} (nats)" if len(shown) else "",
        logarithmic=logarithmic,
        share=True,
    )


@styled
def plot_correlation_pairs(pairs: pl.DataFrame) -> Figure:
    """Each run of :func:`correlation_pairs` as a point; above the diagonal the mean codes are the more correlated."""
    sets = pairs["data"].unique(maintain_order=True).to_list()
    figure, axes = panels(len(sets), 4, 2.9, 2.8)
    shades = colours(pairs["objective"].to_list())
    for axis, name in zip(axes, sets, strict=True):
        group = pairs.filter((pl.col("data") == name) & (pl.col("mean") > 0) & (pl.col("sampled") > 0))
        for objective, runs in group.group_by("objective", maintain_order=True):
            colour = shades[str(objective[0])]
            axis.scatter(runs["sampled"], runs["mean"], s=14, color=colour, alpha=0.75, linewidths=0)
        if len(group):
            both = np.concatenate([group["sampled"].to_numpy(), group["mean"].to_numpy()])
            ends = 10.0 ** np.array([np.floor(np.log10(both.min())), np.ceil(np.log10(both.max()))])
            axis.plot(ends, ends, color=QUIET, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
            axis.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
        axis.grid(color=GRID)
        axis.set_title(name)
    figure.supxlabel("total correlation of sampled codes (nats)", fontsize=9)
    figure.supylabel("total correlation of mean codes (nats)", fontsize=9)
    handles = [axes[0].scatter([], [], s=22, color=shade, label=label(name)) for name, shade in shades.items()]
    figure.legend(handles=handles, loc="outside right upper")
    return figure

"""Pictures of a study of noise training."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unbraid.errors import UsageError
from unbraid.study.analysis._style import INK, PALETTE, QUIET, new_figure, styled
from unbraid.study.noise.tables import Trained, beside_published
from unbraid.study.noise.ways import CLEAN, VANILLA

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_changes", "plot_distances", "plot_sigmas"]

MOST = 40
"""Points at which colours end."""


@styled
def plot_changes(trained: Trained) -> Figure:
    """Points of accuracy that each way of training gains or loses against as many clean steps, by corruption."""
    if CLEAN not in trained.ways:
        raise UsageError(f"changes are told against {CLEAN!r}, and there is no such run")
    means = beside_published(trained, "mnist-c").pivot("score", index="way", values="mean", maintain_order=True)
    columns = [name for name in means.columns if name != "way"]
    columns.sort(key=lambda name: {"clean": 0, "mean": 1, "without noise": 2}.get(name, 3))
    reference = means.filter(pl.col("way") == CLEAN).select(columns).to_numpy()[0]
    rows = means.filter(pl.col("way") != CLEAN)
    values = rows.select(columns).to_numpy() - reference
    figure, axes = new_figure(1, 1, 0.47 * len(columns) + 1.6, 0.34 * len(rows) + 1.2)
    axis = axes[0, 0]
    image = axis.imshow(values, cmap="RdBu", vmin=-MOST, vmax=MOST, aspect="auto")
    for row, column in np.ndindex(*values.shape):
        shade = "white" if abs(values[row, column]) > 0.62 * MOST else INK
        told = f"{values[row, column]:+.0f}".replace("-", "−")
        axis.text(
            column, row, "0" if told in ("+0", "−0") else told, ha="center", va="center", fontsize=7.5, color=shade
        )
    axis.set_xticks(range(len(columns)), [name.replace("_", " ") for name in columns], rotation=45, ha="right")
    axis.set_yticks(range(len(rows)), rows["way"].to_list())
    axis.axvline(2.5, color="white", linewidth=3)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    axis.set_title(f"Points of accuracy above “{CLEAN}”, mean of {len(trained.seeds)} seeds")
    bar = figure.colorbar(image, ax=axis, shrink=0.9, pad=0.015, aspect=22)
    bar.outline.set_visible(False)
    return figure


@styled
def plot_distances(trained: Trained) -> Figure:
    """Median L2 of the noise that changes decisions: a row per way of training, a point per seed and kind of noise."""
    rows = trained.table.drop_nulls("noise_distance") if "noise_distance" in trained.table.columns else None
    if rows is None or not len(rows):
        raise UsageError("no noise distance was measured; add [measures.noise-distance] to the study's file")
    ways = [way for way in trained.ways if way in set(rows["way"])]
    kinds = rows["direction"].unique(maintain_order=True).to_list()
    figure, axes = new_figure(1, 1, 5.6, 0.34 * len(ways) + 0.9)
    axis = axes[0, 0]
    for place, kind in enumerate(kinds):
        found = rows.filter(pl.col("direction") == kind)
        across = [ways.index(way) + 0.16 * (place - (len(kinds) - 1) / 2) for way in found["way"]]
        axis.plot(found["noise_distance"], across, "o", color=PALETTE[place], label=kind, markersize=4, alpha=0.85)
    axis.set_yticks(range(len(ways)), ways)
    axis.invert_yaxis()
    axis.set_xlim(left=0)
    axis.grid(axis="x")
    axis.set_xlabel("median L2 of the noise that changes a decision")
    figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=len(kinds))
    return figure


@styled
def plot_sigmas(trained: Trained) -> Figure:
    """Accuracy under corruptions against the standard deviation of the noise in training."""
    found = {float(one[1]): way for way in trained.ways if (one := re.fullmatch(r"GNT ([0-9.]+)", way))}
    if len(found) < 3:
        raise UsageError("it needs three standard deviations or more")
    sigmas = sorted(found)
    table = beside_published(trained, "mnist-c")
    figure, axes = new_figure(1, 1, 5.2, 2.9)
    axis = axes[0, 0]
    for colour, score in zip(PALETTE, ("mean", "without noise", "clean"), strict=False):
        rows = [
            table.row(by_predicate=(pl.col("way") == found[s]) & (pl.col("score") == score), named=True) for s in sigmas
        ]
        spread = [row["sd"] or 0 for row in rows]
        axis.errorbar(
            sigmas, [row["mean"] for row in rows], spread, color=colour, marker="o", markersize=3.5, label=score
        )
        if VANILLA in trained.ways:
            plain = table.row(by_predicate=(pl.col("way") == VANILLA) & (pl.col("score") == score), named=True)
            axis.axhline(plain["mean"], color=colour, linewidth=0.9, linestyle=(0, (4, 3)))
    axis.set_xlabel("standard deviation of the noise in training")
    axis.set_ylabel("accuracy, %")
    axis.grid(axis="y")
    axis.text(0.99, 0.02, "dashed: vanilla", transform=axis.transAxes, ha="right", color=QUIET, fontsize=8)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure

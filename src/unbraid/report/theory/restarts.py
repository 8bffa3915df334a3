"""Restarts one by one: how their scores are spread, which factors suffer, and whether two numbers agree over them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unbraid.evaluation import told
from unbraid.files import save_figure
from unbraid.sharing import markdown
from unbraid.theory import judge_manipulation

if TYPE_CHECKING:
    import polars

__all__ = ["draw_agreement", "draw_restarts", "factor_table", "verdict_table"]

_COLOURS = {"original": "#0072B2", "perturbed": "#D55E00", "noise": "#999999"}
_STOPS = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7")


def draw_agreement(rows: polars.DataFrame, path: Path) -> None:
    """A point per restart: its distance to orthogonality against its score, coloured by when it stopped."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6, 3.4), layout="constrained")
    axis = figure.subplots()
    for colour, stopped in zip(_STOPS, sorted(rows["stopped"].unique()), strict=False):
        cell = rows.filter(rows["stopped"] == stopped).drop_nulls(["distance", "ds"])
        axis.plot(cell["distance"], cell["ds"], "o", color=colour, markersize=5, label=f"{stopped:.0%} of training")
    axis.set_xlabel("distance to orthogonality")
    axis.set_ylabel("disentanglement score")
    axis.legend(frameon=False, fontsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    save_figure(figure, path, dpi=150)


def draw_restarts(rows: polars.DataFrame, path: Path) -> None:
    """Histograms of MIG over restarts, a row per data set and a column per model: are there two kinds of restarts?"""
    from matplotlib.figure import Figure

    names = rows["data"].unique(maintain_order=True).to_list(), rows["model"].unique(maintain_order=True).to_list()
    size = (2.9 * len(names[1]) + 0.4, 2.3 * len(names[0]) + 0.3)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(names[0]), len(names[1]), squeeze=False, sharex=True, sharey=True)
    for axes, data in zip(grid, names[0], strict=True):
        for axis, model in zip(axes, names[1], strict=True):
            cell = rows.filter((rows["data"] == data) & (rows["model"] == model))
            for variant, colour in _COLOURS.items():
                found = cell.filter(cell["variant"] == variant)["mig"].to_numpy()
                axis.hist(found, np.linspace(0, 1, 21), color=colour, alpha=0.55, label=variant)
            axis.set_title(f"{model}\n{data.partition(':')[0]}", fontsize=8, loc="left")
            axis.spines[["top", "right"]].set_visible(False)
            axis.tick_params(labelsize=7)
    for axis in grid[-1]:
        axis.set_xlabel("MIG", fontsize=8)
    grid[0, -1].legend(frameon=False, fontsize=7)
    save_figure(figure, path, dpi=150)


def factor_table(rows: polars.DataFrame) -> str:
    """Markdown: MIG factor by factor on the original and the perturbed set and in noise, means over restarts."""
    import polars

    lines = ["| data | model | factor | original | perturbed | noise |", "|---|---|---|---|---|---|"]
    names = [name for name in rows.columns if name.startswith("mig_")]
    for (data, model), cell in rows.group_by(["data", "model"], maintain_order=True):
        for name in names:
            mean = dict(cell.group_by("variant").agg(polars.col(name).mean()).iter_rows())
            if mean.get("original") is None:
                continue
            shown = ["–" if mean.get(variant) is None else f"{mean[variant]:.3f}" for variant in _COLOURS]
            named = [markdown(text) for text in (data, model, name.removeprefix("mig_"))]
            lines.append(f"| {' | '.join([*named, *shown])} |")
    return "\n".join(lines) + "\n"


def verdict_table(rows: polars.DataFrame) -> str:
    """Markdown: what the trials of a perturbed data set say of each published claim."""
    lines = ["| data | model | claim | here | evidence |", "|---|---|---|---|---|"]
    for one in judge_manipulation(rows):
        cells = [*map(markdown, (one.data, one.model)), one.title, *told(one.verdict, strong="**")]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"

"""Pictures of the experiments on sparse transitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.files import save_figure

__all__ = ["draw_collapse", "draw_identifiability", "draw_rotation", "draw_sweep"]

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9")
Rows = Sequence[Mapping[str, Any]]


def draw_identifiability(rows: Rows, path: Path) -> None:
    """One line per model, one dot per seed: how far the codes are the true latents."""
    from matplotlib.figure import Figure

    rows = [{**row, "model": _told(row)} for row in rows]
    models = list(dict.fromkeys(row["model"] for row in rows))
    figure = Figure(figsize=(6.4, 1.3 + 0.42 * len(models)), layout="constrained")
    axis = figure.subplots()
    for position, model in enumerate(reversed(models)):
        values = [row["pearson"] for row in rows if row["model"] == model]
        axis.scatter(values, [position] * len(values), color=_COLOURS[0], alpha=0.75, s=36, clip_on=False, zorder=3)
        printed = next((row["published"] for row in rows if row["model"] == model and row.get("published")), None)
        if printed is not None:
            axis.plot(printed, position, "D", ms=6, mfc="white", mec="#20262e", zorder=2)
    axis.set_yticks(range(len(models)), models[::-1])
    axis.set_xlim(min(0.5, min(row["pearson"] for row in rows) - 0.02), 1)
    axis.set_ylim(-0.6, len(models) - 0.4)
    told = "; diamonds: published, 20 sources" if any(row.get("published") for row in rows) else ""
    axis.set_xlabel(f"mean correlation of matched codes and true latents (1: identified{told})")
    axis.grid(axis="x", color="#e3e6ea")
    _finish(axis)
    save_figure(figure, path, dpi=160)


def _told(row: Mapping[str, Any]) -> str:
    """The model, and how many layers it sees through."""
    layers = row.get("layers")
    return row["model"] if layers is None else f"{row['model']}, {layers} layer{'s' * (layers > 1)}"


def draw_collapse(rows: Rows, path: Path) -> None:
    """How much the smallest latent moves, and how well all are found, as one axis of what is seen shrinks."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 3.3), layout="constrained")
    axes = figure.subplots(1, 2)
    for colour, model in zip(_COLOURS, dict.fromkeys(row["model"] for row in rows), strict=False):
        own = [row for row in rows if row["model"] == model]
        _line(axes[0], own, "kappa", lambda row: min(row["spread"]), colour, model)
        _line(axes[1], own, "kappa", lambda row: row["pearson"], colour, model)
    for axis, label in zip(axes, ("spread of the smaller latent's mean", "correlation with the latents"), strict=True):
        axis.set_xlabel("size of the minor axis, kappa")
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0)
        _finish(axis)
    axes[0].legend(frameon=False, fontsize=8)
    save_figure(figure, path, dpi=160)


def draw_sweep(rows: Rows, by: str, label: str, path: Path) -> None:
    """Correlation with the true latents against one setting."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6, 3.3), layout="constrained")
    axis = figure.subplots()
    _line(axis, rows, by, lambda row: row["pearson"], _COLOURS[0], "")
    axis.set_xscale("log")
    values = sorted({row[by] for row in rows})
    axis.set_xticks(values, [f"{value:g}" for value in values])
    axis.minorticks_off()
    axis.set_xlabel(label)
    axis.set_ylabel("correlation with the latents")
    axis.set_ylim(0, 1.02)
    _finish(axis)
    save_figure(figure, path, dpi=160)


def draw_rotation(degrees: np.ndarray, energies: Mapping[float, np.ndarray], path: Path) -> None:
    """What a rotation adds to the energy of sparse steps, one curve per shape alpha."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.4, 3.4), layout="constrained")
    axis = figure.subplots()
    for colour, (alpha, values) in zip(_COLOURS, energies.items(), strict=False):
        axis.plot(degrees, values, color=colour, label=f"alpha = {alpha:g}")
    axis.set_xlabel("rotation of two latents, degrees")
    axis.set_ylabel("energy of a step, unrotated = 1")
    axis.set_xticks(np.arange(0, 91, 15))
    axis.legend(frameon=False, fontsize=8)
    _finish(axis)
    save_figure(figure, path, dpi=160)


def _line(axis: Any, rows: Iterable[Mapping[str, Any]], by: str, value: Any, colour: str, label: str) -> None:
    found: dict[float, list[float]] = {}
    for row in rows:
        found.setdefault(row[by], []).append(value(row))
    x = sorted(found)
    axis.plot(x, [np.mean(found[each]) for each in x], color=colour, marker="o", markersize=4, label=label)
    for each in x:
        axis.scatter([each] * len(found[each]), found[each], color=colour, alpha=0.4, s=14)


def _finish(axis: Any) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)

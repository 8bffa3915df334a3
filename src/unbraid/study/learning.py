"""Learning curves of a study's runs: what codes know of each factor against the CPU time that it took."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import polars as pl

from unbraid.evaluation import MILLISECONDS, learning_curve
from unbraid.study.analysis._style import GRID, PALETTE, label, new_figure, styled
from unbraid.study.folder import StudyFolder
from unbraid.study.grid import RunSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unbraid.training import Run

__all__ = ["learning_end", "learning_table", "plot_learning"]

_STYLES = ("-", "--", ":", "-.")


def learning_table(folder: StudyFolder) -> pl.DataFrame:
    """A row per look at a run: what the run is, ``step``, CPU ``seconds`` of training, and what its codes knew then.

    ``setting`` names what runs differ in besides data and seed: network, objective and those options that vary. Runs
    without a curve are left out, also those that were not looked at yet.
    """
    from unbraid.training import EVALUATIONS, open_run

    begun = [spec for spec in folder.study if (folder.run(spec.index) / EVALUATIONS).exists()]
    opened = {spec.index: open_run(folder.run(spec.index)) for spec in begun}
    specs = [spec for spec in begun if _was_seen(opened[spec.index])]
    varied = _varied(specs)
    parts = []
    for spec in specs:
        curve = learning_curve(opened[spec.index])
        about = {"index": spec.index, "data": spec.data, "setting": _words(spec, varied), "seed": spec.seed}
        parts.append(curve.select(*(pl.lit(value).alias(name) for name, value in about.items()), pl.all()))
    return pl.concat(parts, how="diagonal") if parts else pl.DataFrame()


def learning_end(table: pl.DataFrame) -> pl.DataFrame:
    """Where the curves end: means over seeds, a row per data set and setting."""
    last = table.sort("step").group_by("data", "setting", "seed", maintain_order=True).last()
    numbers = [name for name in table.columns if name not in ("index", "data", "setting", "seed")]
    means = last.group_by("data", "setting", maintain_order=True).agg(pl.len().alias("runs"), pl.col(numbers).mean())
    return means.sort("data", "r2", descending=[False, True])


@styled
def plot_learning(table: pl.DataFrame) -> Figure:
    """Curves of :func:`learning_table` against CPU seconds: data sets down, R² of each factor, MIG and latents across.

    Colours are settings; every seed has a line of its own.
    """
    sets = table["data"].unique(maintain_order=True).to_list()
    settings = table["setting"].unique(maintain_order=True).to_list()
    names = {name: _known(table.filter(pl.col("data") == name)) for name in sets}
    figure, axes = new_figure(len(sets), max(map(len, names.values())), 1.75, 1.9, sharex="row")
    handles: dict[str, Any] = {}
    for row, name in zip(axes, sets, strict=True):
        for axis in row[len(names[name]) :]:
            axis.set_axis_off()
        for axis, column in zip(row, names[name], strict=False):
            for number, setting in enumerate(settings):
                look = {"color": PALETTE[number % len(PALETTE)], "ls": _STYLES[number // len(PALETTE) % len(_STYLES)]}
                here = table.filter((pl.col("data") == name) & (pl.col("setting") == setting))
                for _, run in here.group_by("seed", maintain_order=True):
                    handles[setting] = axis.plot(run["seconds"], run[column], lw=1.1, **look)[0]
            axis.set_title(_title(column))
            if column.startswith(("r2", "accuracy", "mig")):
                axis.set_ylim(-0.12, 1.02)
            axis.grid(color=GRID)
            axis.set_xlabel("CPU seconds")
        row[0].set_ylabel("\n".join(wrap(name, 24)), fontsize=7.5)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)
    return figure


def _title(column: str) -> str:
    for start, words in {"r2_": "R²", "accuracy_": "accuracy"}.items():
        if column.startswith(start):
            return f"{words}, {column.removeprefix(start)}"
    return "mean R²" if column == "r2" else label(column)


def _known(table: pl.DataFrame) -> list[str]:
    """The columns to draw: those that are measured on these data."""
    factors = [name for name in table.columns if name.startswith(("r2_", "accuracy_"))]
    return [name for name in ("r2", *factors, "mig", "active") if name in table.columns and table[name].count()]


def _was_seen(run: Run) -> bool:
    """Whether there is a whole look at a run: its file is there, and empty, from the beginning of training."""
    rows = run.evaluations()
    return len(rows) > 0 and MILLISECONDS in set(rows["name"])


def _varied(specs: list[RunSpec]) -> list[str]:
    """The options in which the runs differ, the network first."""
    names = dict.fromkeys(name for spec in specs for name in spec.options)
    several = [name for name in names if len({str(spec.options.get(name)) for spec in specs}) > 1]
    return sorted(several, key=lambda name: name != "net")


def _words(spec: RunSpec, varied: list[str]) -> str:
    options: Mapping[str, Any] = spec.options
    told = [f"{name} {_short(options[name])}" for name in varied if name in options]
    return ", ".join([spec.objective, *told])


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)

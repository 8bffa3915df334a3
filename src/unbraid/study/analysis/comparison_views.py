"""Comparisons of methods as pictures and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from unbraid.sharing import markdown
from unbraid.study.analysis._style import GRID, INK, PALETTE, label, new_figure, styled
from unbraid.study.analysis.comparison import COMPARED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["markdown_scores", "plot_mean_ranks", "plot_method_scores"]


@styled
def plot_method_scores(scores: pl.DataFrame) -> Figure:
    """Mean and standard deviation of every method: data sets down, scores across; rings where a t-test marks it."""
    sets, metrics = scores["data"].unique(maintain_order=True).to_list(), _in_order(scores["metric"])
    methods = scores["method"].unique(maintain_order=True).to_list()
    figure, axes = new_figure(len(sets), len(metrics), 1.7, 0.2 * len(methods) + 0.7, sharey=True)
    for row, name in enumerate(sets):
        for column, metric in enumerate(metrics):
            axis = axes[row, column]
            here = scores.filter((pl.col("data") == name) & (pl.col("metric") == metric))
            for entry in here.iter_rows(named=True):
                height, shade = methods.index(entry["method"]), PALETTE[methods.index(entry["method"]) % len(PALETTE)]
                axis.errorbar(entry["mean"], height, xerr=entry["sd"] or 0, fmt="o", ms=4, color=shade, lw=1.4)
                if entry["mark"] is not None:
                    axis.plot(entry["mean"], height, "o", ms=9, mfc="none", mec=INK, mew=0.9)
            if not len(here):
                axis.set_facecolor("#f6f7f9")
                axis.set_xticks([])
            axis.grid(axis="x", color=GRID)
            if row == 0:
                axis.set_title(label(metric))
        axes[row, 0].set_yticks(range(len(methods)), [_name(method) for method in methods])
        axes[row, 0].set_ylim(len(methods) - 0.4, -0.6)
        axes[row, 0].set_ylabel(label(name), fontsize=7.5)
    return figure


@styled
def plot_mean_ranks(ranks: pl.DataFrame) -> Figure:
    """Mean ranks of :func:`mean_ranks` as dots on their quartiles; the best method is on top."""
    figure, axes = new_figure(1, 1, 4.6, 0.28 * len(ranks) + 0.5)
    axis = axes[0, 0]
    for height, entry in enumerate(ranks.iter_rows(named=True)):
        axis.plot([entry["lower"], entry["upper"]], [height, height], color=PALETTE[0], alpha=0.35, lw=6)
        axis.plot(entry["mean_rank"], height, "o", ms=6, color=PALETTE[0])
        text = f"{entry['mean_rank']:.2f}"
        axis.annotate(
            text, (entry["mean_rank"], height), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=7
        )
    axis.set_yticks(range(len(ranks)), [_name(method) for method in ranks["method"]])
    axis.set_ylim(len(ranks) - 0.4, -0.8)
    axis.set_xlabel(f"rank over {ranks['cells'][0]} pairs of data set and score (1 is best)")
    axis.grid(axis="x", color=GRID)
    return figure


def markdown_scores(scores: pl.DataFrame) -> str:
    """Tables of ``mean (s.d.)`` in percent, one per data set; bold is best and italic worst by the t-test's marks."""
    lines: list[str] = []
    for (name,), here in scores.group_by("data", maintain_order=True):
        metrics = _in_order(here["metric"])
        lines += [f"**{markdown(name)}**", "", "| method | " + " | ".join(map(label, metrics)) + " |"]
        lines.append("|---|" + "---|" * len(metrics))
        for (method,), rows in here.group_by("method", maintain_order=True):
            cells = {row["metric"]: _cell(row["mean"], row["sd"], row["mark"]) for row in rows.iter_rows(named=True)}
            shown = " | ".join(cells.get(key, "–") for key in metrics)
            lines.append(f"| {markdown(_name(str(method)))} | {shown} |")
        lines.append("")
    return "\n".join(lines)


def _name(method: str) -> str:
    objective, _, strength = method.partition(" ")
    return f"{label(objective)} {strength}".strip()


def _cell(mean: float, sd: float | None, mark: str | None) -> str:
    text = f"{100 * mean:.1f}" + ("" if sd is None else f" ({100 * sd:.1f})")
    return {"best": f"**{text}**", "worst": f"*{text}*"}.get(mark or "", text)


def _in_order(names: pl.Series) -> Sequence[str]:
    """Scores in the order of the published tables, others behind."""
    found = names.unique(maintain_order=True).to_list()
    return [*(name for name in COMPARED if name in found), *(name for name in found if name not in COMPARED)]

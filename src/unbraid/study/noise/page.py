"""The sections of a study's report about noise training."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from unbraid.errors import UsageError
from unbraid.sharing import markdown
from unbraid.study.analysis._style import save_figure
from unbraid.study.judged import findings_section
from unbraid.study.noise.findings import judge_noise
from unbraid.study.noise.tables import Trained, beside_published
from unbraid.study.noise.views import plot_changes, plot_distances, plot_sigmas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["noise_sections"]

_HEAD = (
    ("clean", "mean", "without noise"),
    "Accuracy in %, mean ± standard deviation over seeds (n − 1); the mean is over the 15 corruptions of MNIST-C, "
    "without noise over the 13 that are neither shot nor impulse noise. In brackets what Rusak et al. (2020) print for "
    "MNIST-C and another network (Madry et al., 2018), after 500 epochs.",
)
_TABLES: tuple[tuple[str, str, str], ...] = (
    (
        "How much noise changes a decision",
        "noise-distance",
        "Median L2 over images; learned noise: mean of several generators trained against the finished model. "
        "In brackets the published distances on ImageNet, whose images have 192 times the pixels: look at ratios.",
    ),
    (
        "What adversaries leave",
        "mnist-adversarial",
        "Accuracy in % where an attack may move each image, by DDN in L2 and by PGD in Linf, as far as the measures "
        "above say. In brackets the published values for MNIST, at L2 1.5 and Linf 0.1.",
    ),
)
_VIEWS: tuple[tuple[str, str, Callable[[Trained], Figure]], ...] = (
    ("changes", "What each way of training gains and loses", plot_changes),
    ("distances", "Noise that changes decisions", plot_distances),
    ("sigmas", "Accuracy against the standard deviation in training", plot_sigmas),
)


def noise_sections(table: pl.DataFrame, folder: Path) -> Iterator[str]:
    """Lines of Markdown about a study's table; plots are written to ``folder`` as PNG files."""
    yield from findings_section("Findings about noise training", "Rusak et al. (2020)", judge_noise(table))
    for data, trained in Trained.of(table).items():
        yield from ("", f"## Under corruptions: {markdown(data)}", "", _HEAD[1], "")
        yield from _wide(beside_published(trained, "mnist-c"), trained)
        for heading, kind, words in _TABLES:
            beside = beside_published(trained, kind)
            if len(beside):
                digits = 2 if kind == "noise-distance" else 1
                yield from ("", f"## {heading}: {markdown(data)}", "", words, "")
                yield from _grid(beside, beside["score"].unique(maintain_order=True).to_list(), digits)
        for name, caption, plot in _VIEWS:
            try:
                figure = plot(trained)
            except UsageError:
                continue  # this study does not ask about it
            file = f"{name}-{re.sub(r'[^A-Za-z0-9.]+', '-', data)}.png"
            save_figure(figure, folder / file)
            yield from ("", f"![{caption}]({file})")


def _wide(beside: pl.DataFrame, trained: Trained) -> Iterator[str]:
    """The means first, then every corruption."""
    yield from _grid(beside, _HEAD[0])
    yield ""
    yield from _grid(beside, trained.corruptions)


def _grid(beside: pl.DataFrame, scores: Sequence[str], digits: int = 1) -> Iterator[str]:
    cells = {(row["way"], row["score"]): _cell(row, digits) for row in beside.iter_rows(named=True)}
    yield "| | " + " | ".join(markdown(score.replace("_", " ")) for score in scores) + " |"
    yield "|---|" + "---|" * len(scores)
    for way in beside["way"].unique(maintain_order=True):
        yield f"| {markdown(way)} | " + " | ".join(cells.get((way, score), "") for score in scores) + " |"


def _cell(row: Mapping[str, Any], digits: int) -> str:
    if math.isinf(row["mean"]):
        return "∞"
    spread = "" if row["sd"] is None else f" ± {row['sd']:.{digits}f}"
    known = "" if row["published"] is None else f" [{row['published']:g}]"
    return f"{row['mean']:.{digits}f}{spread}{known}"

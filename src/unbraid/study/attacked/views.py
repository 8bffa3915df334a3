"""Pictures of classifiers that were attacked: accuracy over distance, nearest adversarials, and climbs from noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unbraid.robustness import accuracy_curve
from unbraid.study.analysis._style import PALETTE, QUIET, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_curves", "plot_pictures"]

TITLES = {"l0": "L0, pixels", "l2": "L2", "linf": "Linf"}
SHOWN = 0.98
"""Axes end where so many of the distances lie."""


@styled
def plot_curves(found: Mapping[str, Mapping[str, np.ndarray]], bounds: Mapping[str, float], seed: int = 0) -> Figure:
    """Accuracy over the allowed distance, ``found[norm][model]``, with bands of 95 % over images."""
    figure, axes = new_figure(1, len(found), 2.9, 2.7)
    for axis, (norm, models) in zip(axes[0], found.items(), strict=True):
        finite = np.concatenate([one[np.isfinite(one)] for one in models.values()])
        reach = float(np.quantile(finite, SHOWN)) if len(finite) else 0.0
        reach = reach or 1.0  # nothing was moved
        for tone, (name, distances) in enumerate(models.items()):
            curve = accuracy_curve(distances, np.linspace(0, reach, 200), seed=seed)
            colour = PALETTE[tone % len(PALETTE)]
            axis.plot(curve.bounds, 100 * curve.accuracy, color=colour, label=name, linewidth=1.4)
            axis.fill_between(curve.bounds, 100 * curve.low, 100 * curve.high, color=colour, alpha=0.15, linewidth=0)
        axis.axvline(bounds[norm], color=QUIET, linewidth=0.8, linestyle=":")
        axis.set_title(TITLES[norm])
        axis.set_ylim(0, 101)
        axis.set_xlim(0, reach)
        axis.grid()
        axis.set_xlabel("distance")
    axes[0, 0].set_ylabel("accuracy, %")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


@styled
def plot_pictures(rows: Mapping[str, Sequence[tuple[np.ndarray, str] | None]]) -> Figure:
    """A row of small pictures with a word under each, by name; nothing where there is none."""
    columns = max(map(len, rows.values()))
    figure, axes = new_figure(len(rows), columns, 0.8, 0.9)
    for line, (name, pictures) in zip(axes, rows.items(), strict=True):
        for axis in line:
            _bare(axis)
        for axis, told in zip(line, pictures, strict=False):
            if told is None:
                continue
            picture, word = told
            axis.imshow(picture[..., 0] if picture.shape[-1] == 1 else picture, cmap="gray", vmin=0, vmax=255)
            axis.set_xlabel(word, fontsize=7, labelpad=1.5)
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=8)
    return figure


def _bare(axis: Axes) -> None:
    axis.set_xticks([])
    axis.set_yticks([])
    axis.spines[:].set_visible(False)

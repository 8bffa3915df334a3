"""One model's predictions, and the scores of all models, as PNG files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from unbraid.errors import UsageError
from unbraid.files import make_folders, save_figure
from unbraid.report.generalization.truth_panels import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_panels"]

_INK, _SEEN, _BEYOND, _SHADE, _QUIET = "#1f2430", "#8a93a1", "#c24b00", "#f7e3d8", "#777777"


def draw_panels(panels: Sequence[Panel], path: str | Path, *, title: str) -> Path:
    """Write predicted against true values, a panel per factor with unseen values, which are shaded."""
    from matplotlib.figure import Figure

    if not panels:
        raise UsageError("no factor has values that training never shows; interpolation and extrapolation do")
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(3.1 * columns, 2.9 * rows + 0.5), facecolor="white", layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis, panel in zip(axes, panels, strict=False):
        _draw(cast("Axes", axis), panel)
    for axis in axes[len(panels) :]:
        axis.axis("off")
    figure.suptitle(title, fontsize=11, x=0.01, ha="left", color=_INK)
    words = (
        "shaded: never trained on; orange: images in which this factor alone has such a value; grey: seen values alone"
    )
    figure.supxlabel(words if columns > 1 else words.replace("; ", "\n"), fontsize=8, x=0.01, ha="left", color=_QUIET)
    target = Path(path)
    try:
        make_folders(target.parent)
        save_figure(figure, target, dpi=130)
    except OSError as error:
        raise UsageError(f"cannot write the picture {target} ({error.strerror or error})") from error
    return target


def _draw(axis: Axes, panel: Panel) -> None:
    rng = np.random.default_rng(0)
    for low, high in panel.bands:
        axis.axvspan(low, high, color=_SHADE, linewidth=0, zorder=0)
    axis.plot([0, 1], [0, 1], color=_QUIET, linewidth=1, linestyle="--", zorder=1)
    for (truth, said), colour in ((panel.seen, _SEEN), (panel.beyond, _BEYOND)):
        spread = panel.spread * (rng.random(len(truth)) - 0.5)
        axis.scatter(truth + spread, said, s=6, color=colour, alpha=0.6, linewidths=0, zorder=2)
    axis.set_title(panel.factor, fontsize=10, loc="left", color=_INK)
    axis.set_xlabel("true", fontsize=8)
    axis.set_ylabel("predicted", fontsize=8)
    axis.set_xlim(-0.06, 1.06)
    axis.tick_params(labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)

"""Pictures of a recursion: where a set was cut, which hyperparameters won, what each metaEpoch learned."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.selection.reduction import Cut, Interval

__all__ = ["draw_reduction"]

_INK, _FIRST, _SECOND, _THIRD, _QUIET = "#1f2430", "#0072B2", "#D55E00", "#009E73", "#b6bcc6"


def draw_reduction(
    cuts: Sequence[Cut],
    path: Path,
    *,
    chosen: Sequence[Interval] = (),
    names: Sequence[str] | None = None,
    title: str = "",
) -> None:
    """Sorted encodings of every active latent, their derivative, its peaks, and the chosen interval.

    ``chosen`` comes from :class:`unbraid.selection.reduction.Reduction`; without it only the peaks are drawn.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.4 * max(len(cuts), 1.5) + 0.6, 4.6), layout="constrained")
    axes = figure.subplots(2, len(cuts), squeeze=False, sharex="col", height_ratios=[3, 2])
    for column, cut in enumerate(cuts):
        above, below = axes[:, column]
        n = len(cut.values)
        derivative = cut.derivative
        for axis in (above, below):
            for interval in chosen[column : column + 1]:
                axis.axvspan(interval.start, interval.stop - 1, color=_THIRD, alpha=0.25, linewidth=0)
            axis.axvspan(0, cut.edge, color=_QUIET, alpha=0.25, linewidth=0)
            axis.axvspan(n - 1 - cut.edge, n - 1, color=_QUIET, alpha=0.25, linewidth=0)
            axis.margins(x=0)
            _plain(axis)
        above.plot(cut.values, color=_FIRST, linewidth=1.2)
        below.plot(derivative, color=_INK, linewidth=0.6)
        below.plot(cut.peaks, derivative[cut.peaks], "v", color=_SECOND, markersize=4)
        if np.isfinite(cut.threshold):
            below.axhline(cut.threshold, color=_SECOND, linewidth=0.8, linestyle="--")
            inner = derivative[cut.edge : n - 1 - cut.edge]
            below.set_ylim(0, 1.15 * max(float(inner.max()), cut.threshold))  # the tails may be steeper by far
        name = names[column] if names else f"latent {column}"
        kept = f", {len(chosen[column]):,} in the green one" if column < len(chosen) else ""
        above.set_title(f"{name}: {len(cut.peaks)} peaks{kept}", fontsize=9, loc="left")
        below.set_xlabel("images, sorted by encoding", fontsize=8)
    axes[0, 0].set_ylabel("encoding", fontsize=8)
    axes[1, 0].set_ylabel("derivative", fontsize=8)
    if title:
        figure.suptitle(title, fontsize=10, x=0.01, ha="left", color=_INK)
    figure.savefig(path, dpi=150)


def _plain(axis: Any) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)

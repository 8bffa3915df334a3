"""The matrix as a picture, for papers and slides."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unbraid.errors import UsageError
from unbraid.files import save_figure
from unbraid.report.transfer.shown import REACH, shown, signed
from unbraid.transfer import Matrix, get_scenario, own_scenarios

__all__ = ["draw_matrix"]

INK, PALE = "#1f2430", 0.3


def draw_matrix(found: Matrix, *paths: Path) -> None:
    """Save the heat map of a matrix, to every path, by its ending: PNG, SVG, PDF.

    Own scenarios are framed, cells that are unchanged or undecided are pale, the verdict stands at the row's end.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    rows, columns = found.biases, [one for one in found.scenarios if any(one in row for row in found.effects.values())]
    if not rows or not columns:
        raise UsageError(f"the matrix of {found.domain} has no cell yet: nothing to draw")
    values = np.array([[shown(found.effects[bias].get(one))[0] for one in columns] for bias in rows])
    long = max(map(len, rows))
    figure = Figure(figsize=(1.6 + 0.1 * long + 0.62 * len(columns), 1.5 + 0.34 * len(rows)), layout="constrained")
    axis = figure.subplots()
    sure = np.array([[_decided(found, bias, one) for one in columns] for bias in rows])
    axis.imshow(np.ma.masked_invalid(values), cmap="RdBu", vmin=-REACH, vmax=REACH, aspect="auto",
                alpha=np.where(sure, 1.0, PALE))  # fmt: skip
    for i, bias in enumerate(rows):
        own = own_scenarios(bias)
        for j, one in enumerate(columns):
            effect = found.effects[bias].get(one)
            if effect is None:
                continue
            ink = "white" if sure[i, j] and abs(values[i, j]) > 0.62 * REACH else INK
            axis.text(j, i, signed(values[i, j]), ha="center", va="center", fontsize=7.5, family="DejaVu Sans",
                      fontweight="bold" if sure[i, j] else "normal", color=ink)  # fmt: skip
            if one in own:
                axis.add_patch(Rectangle((j - 0.46, i - 0.44), 0.92, 0.88, fill=False, lw=1.4, ec=INK))
        axis.text(len(columns) - 0.4, i, found.verdicts[bias].word, va="center", fontsize=8, fontstyle="italic")
    axis.set_xticks(
        range(len(columns)), [get_scenario(one).title for one in columns], rotation=45, ha="right", fontsize=8
    )
    axis.set_yticks(range(len(rows)), rows, fontsize=8)
    axis.set_title(f"{found.domain}: points, or percent of distances, against the vanilla twin", fontsize=9, loc="left")
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    for path in paths:
        save_figure(figure, path, dpi=160, bbox_inches="tight")


def _decided(found: Matrix, bias: str, scenario: str) -> bool:
    effect = found.effects[bias].get(scenario)
    return effect is not None and effect.word in ("better", "worse")

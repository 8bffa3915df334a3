"""A card as a picture: every scenario between chance and the most that there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unbraid.transfer.card import Card, Line

__all__ = ["plot_card"]

BAR, MARK = "#2a6fbb", "#1f2430"


def plot_card(found: Card) -> Figure:
    """One bar per scenario, its number beside it; a line where the reference stands.

    Distances have no common scale: their bars are drawn against the larger of model and reference.
    """
    from matplotlib.figure import Figure

    lines = list(reversed(found.lines))
    figure = Figure(figsize=(6.4, 0.9 + 0.32 * max(len(lines), 1)), layout="constrained")
    axis = figure.subplots()
    for row, line in enumerate(lines):
        most = _most(line)
        axis.barh(row, max(line.value, 0.0) / most, height=0.62, color=BAR, alpha=0.35 if line.note else 1.0)
        if line.reference is not None:
            place = max(line.reference, 0.0) / most
            axis.plot([place, place], [row - 0.42, row + 0.42], color=MARK, lw=2)
        if 0 < line.chance < most:
            axis.plot([line.chance / most] * 2, [row - 0.31, row + 0.31], color="white", lw=1, ls=":")
        axis.text(1.02, row, _number(line), va="center", fontsize=8)
    axis.set_yticks(range(len(lines)), [line.scenario.title for line in lines], fontsize=8)
    axis.set_xlim(0, 1.0)
    axis.set_xticks([])
    axis.tick_params(length=0)
    axis.spines[["top", "right", "bottom"]].set_visible(False)
    beside = "; the dark line is the reference" if any(line.reference is not None for line in lines) else ""
    axis.set_title(f"{found.model} on {found.data}{beside}", fontsize=9, loc="left")
    return figure


def _most(line: Line) -> float:
    if line.scenario.unit != "distance":
        return max(line.ceiling, 1e-12)
    return max(line.value, line.reference or 0.0, 1e-12)


def _number(line: Line) -> str:
    beside = "" if line.reference is None else f" ({line.reference:.3g})"
    return f"{line.value:.3g}{beside} {line.scenario.unit}"

"""One look for all plots: fonts, colours that colour-blind readers tell apart, names as papers write them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from unbraid import files, objectives
from unbraid.errors import UsageError
from unbraid.evaluation import title
from unbraid.files import make_folders

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["colours", "heat_map", "label", "new_figure", "panels", "save_figure", "styled"]

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4d4d4d", "#8c6d31")
"""Okabe and Ito's colours, ordered by contrast."""
OBJECTIVES = ("beta-vae", "factor-vae", "beta-tcvae", "dip-vae-i", "dip-vae-ii", "annealed-vae")
INK, QUIET, GRID = "#1f2430", "#6b7280", "#e3e6eb"

_STYLE = {
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.labelsize": 9.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#8a919e",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "text.color": INK,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "unbraid",
    "figure.facecolor": "white",
}

P = ParamSpec("P")
R = TypeVar("R")


def styled(plot: Callable[P, R]) -> Callable[P, R]:
    """Draw with the look of this module, whatever the user's own matplotlib settings."""

    @wraps(plot)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> R:
        import matplotlib

        with matplotlib.rc_context(_STYLE):
            return plot(*args, **kwargs)

    return drawn


def new_figure(rows: int, columns: int, width: float = 2.6, height: float = 2.3, **options: Any) -> tuple[Figure, Any]:
    """A figure without a window, and its axes ``[rows, columns]``; sizes in inches per panel."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns + 0.4, height * rows + 0.5), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def panels(count: int, across: int, width: float, height: float, **options: Any) -> tuple[Figure, list[Any]]:
    """A figure with this many axes, at most ``across`` side by side; places left over stay empty."""
    columns = max(1, min(count, across))
    figure, axes = new_figure(max(1, -(-count // columns)), columns, width, height, **options)
    for axis in axes.flat[count:]:
        axis.set_axis_off()
    return figure, list(axes.flat[:count])


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write PNG, SVG or PDF by the ending; the same figure gives the same bytes."""
    import matplotlib

    target = Path(path)
    if target.suffix not in (".png", ".svg", ".pdf"):
        raise UsageError(f"a plot is saved as .png, .svg or .pdf, got {target.name!r}")
    make_folders(target.parent)
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with matplotlib.rc_context(_STYLE):
        files.save_figure(figure, target, dpi=160, metadata=dates.get(target.suffix))
    return target


def label(name: str) -> str:
    """A column, objective or task as it stands in a plot.

    >>> label("gbt_1000"), label("beta-vae"), label("my-objective")
    ('GBT, 1000 labels', 'β-VAE', 'my-objective')
    """
    known = objectives.title(name)
    # Options of a data set go on lines of their own: in one line they would leave no room for the plot.
    return known if known != name else title(name).replace(" @ ", "\n").replace(":", "\n")


def colours(objectives: Iterable[str]) -> dict[str, str]:
    """A colour per objective, those of the study first and always with the same."""
    names = sorted(set(objectives), key=_order)
    known = {name: PALETTE[OBJECTIVES.index(name)] for name in names if name in OBJECTIVES}
    free = [colour for colour in PALETTE if colour not in known.values()] or list(PALETTE)
    others = [name for name in names if name not in known]
    return known | {name: free[position % len(free)] for position, name in enumerate(others)}


def _order(objective: str) -> tuple[int, str]:
    return (OBJECTIVES.index(objective) if objective in OBJECTIVES else len(OBJECTIVES), objective)


def heat_map(axis: Axes, values: np.ndarray, rows: Sequence[str], columns: Sequence[str], title: str) -> Any:
    """Correlations in percent, each written into its cell; missing ones stay grey."""
    percent = 100 * np.asarray(values, dtype=float)
    axis.set_facecolor("#eceef1")
    image = axis.imshow(np.ma.masked_invalid(percent), cmap="RdBu_r", vmin=-100, vmax=100, aspect="auto")
    for row, column in np.ndindex(*percent.shape):
        value = percent[row, column]
        if np.isfinite(value):
            shade = "white" if abs(value) > 62 else INK
            axis.text(column, row, f"{round(float(value))}", ha="center", va="center", fontsize=8, color=shade)
    axis.set_xticks(range(len(columns)), [label(name) for name in columns], rotation=40, ha="right")
    axis.set_yticks(range(len(rows)), [label(name) for name in rows])
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    axis.set_title(title)
    return image

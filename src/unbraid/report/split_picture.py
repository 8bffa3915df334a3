"""One picture of a split: for every two factors, how much of the images with each two values is trained on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from unbraid.data import Split
from unbraid.errors import UsageError
from unbraid.files import make_folders, save_figure, writing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_split"]

_SEEN, _UNSEEN, _INK, _QUIET = "#1b6a8c", "#f3d9cd", "#222222", "#777777"
_MANY = 200
"""A factor of more values has no panel: its cells could not be told apart."""


def draw_split(split: Split, path: str | Path) -> Path:
    """Write a picture: a panel for each two factors, a cell for each two values.

    A cell is the darker, the more of the images that show both values are trained on; one that training never shows
    has a colour of its own. Beside each panel stand the values that only the test shows.
    """
    import matplotlib

    matplotlib.use("Agg", force=False)
    from matplotlib.figure import Figure

    sizes = dict(zip(split.cells.names, split.cells.sizes, strict=True))
    names = [name for name, size in sizes.items() if 1 < size <= _MANY]
    if len(names) < 2:
        raise UsageError(
            f"a picture of a split needs two factors of 2 to {_MANY} values; {split.data.name!r} has {names}"
        )
    across = len(names) - 1
    figure = Figure(figsize=(1.9 * across + 1.2, 1.9 * across + 1.7), facecolor="white")
    panels = figure.subplots(across, across, squeeze=False)
    for row, column in np.ndindex(across, across):
        axes = cast("Axes", panels[row, column])
        if column > row:
            axes.axis("off")
            continue
        _panel(axes, split, names[row + 1], names[column])
        axes.set_xlabel(names[column] if row == across - 1 else "")
        axes.set_ylabel(names[row + 1] if column == 0 else "")
    train, test = len(split.train), len(split.test)
    rule = f"seed {split.seed}" if split.rule is None else split.rule.words()
    top = figure.get_figheight()
    figure.text(0.02, 1 - 0.12 / top, f"{split.data.name}: {split.kind}", size=13, weight="bold", color=_INK, va="top")
    share = f"{train:,} images to train on ({train / (train + test):.1%}), {test:,} to test"
    figure.text(0.02, 1 - 0.42 / top, share, size=9, color=_INK, va="top")
    figure.text(0.02, 1 - 0.62 / top, rule, size=9, color=_QUIET, va="top", wrap=True)
    _legend(figure.add_axes((0.62, 1 - 1.75 / top, 0.33, 0.16 / top)) if across > 1 else None)
    figure.subplots_adjust(0.9 / figure.get_figwidth(), 0.6 / top, 0.97, 1 - 1.1 / top, wspace=0.22, hspace=0.22)
    path = Path(path)
    with writing(path):
        make_folders(path.parent)
        save_figure(figure, path, dpi=110)
    return path


def _panel(axes: Axes, split: Split, down: str, along: str) -> None:
    shares = split.seen(down, along)
    axes.imshow(_coloured(shares), origin="lower", aspect="auto", interpolation="nearest")
    for size, ticks in ((shares.shape[1], axes.set_xticks), (shares.shape[0], axes.set_yticks)):
        ticks(sorted({0, size - 1}))
    axes.tick_params(length=2, labelsize=7, colors=_QUIET)
    for spine in axes.spines.values():
        spine.set_color("#cccccc")
    if max(shares.shape) <= 40:  # thin lines between cells
        axes.set_xticks(np.arange(shares.shape[1] - 1) + 0.5, minor=True)
        axes.set_yticks(np.arange(shares.shape[0] - 1) + 0.5, minor=True)
        axes.grid(which="minor", color="white", linewidth=0.4)
        axes.tick_params(which="minor", length=0)


def _coloured(shares: np.ndarray) -> np.ndarray:
    """RGB ``[h, w, 3]`` of shares: never seen, or from pale to dark."""
    from matplotlib.colors import to_rgb

    dark, pale, never = (np.array(to_rgb(colour)) for colour in (_SEEN, "#d8e8ee", _UNSEEN))
    found = pale + (dark - pale) * shares[..., None]
    return np.where(shares[..., None] > 0, found, never)


def _legend(axes: Axes | None) -> None:
    if axes is None:
        return
    bar = np.concatenate([np.zeros(30), np.linspace(0.01, 1, 100)])[None]
    axes.imshow(_coloured(bar), aspect="auto")
    axes.set_yticks([])
    axes.set_xticks([12, 129], ["never trained on", "always"], size=7, color=_INK)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)

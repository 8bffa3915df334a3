"""The impossibility theorem as pictures: a grid and its image, traversals of a run and of its entangled twin."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.files import save_figure, save_picture
from unbraid.report.tiles import PAPER, QUIET, enlarge, font, labelled_rows
from unbraid.report.traversal import Traversal
from unbraid.theory import Bijection

__all__ = ["draw_bijection", "draw_traversals"]

_INK, _FIRST, _SECOND, _QUIET = "#1f2430", "#0072B2", "#D55E00", "#b6bcc6"


def draw_bijection(
    f: Bijection, points: np.ndarray, path: Path, *, scores: Mapping[str, tuple[float, float]] | None = None
) -> None:
    """A picture of f in the plane of its first two coordinates: a grid, its image, the points before and after.

    Both clouds are coloured by the first source, so the second shows at once that the law stayed and the meaning left.
    ``scores`` by name, before and after, become bars.
    """
    from matplotlib.figure import Figure

    panels = 4 + bool(scores)
    figure = Figure(figsize=(3.1 * panels + (0.9 if scores else 0), 3.4), layout="constrained")
    axes = figure.subplots(1, panels, width_ratios=[1, 1, 1, 1, 1.3][:panels])
    before, after = _lines(f)
    _draw_lines(axes[0], before, "a grid of sources u")
    _draw_lines(axes[1], after, "the same grid in f(u)")
    shown = points[:4000]
    turned = f(shown)
    for axis, cloud, title in ((axes[2], shown, "draws of u"), (axes[3], turned, "f of the same draws")):
        axis.scatter(*cloud[:, :2].T, c=_rank(shown[:, 0]), cmap="cividis", s=3, linewidths=0, rasterized=True)
        axis.set_title(f"{title}, coloured by $u_1$", fontsize=9, loc="left")
    for axis, name in zip(axes[:4], (("u_1", "u_2"), ("f_1(u)", "f_2(u)")) * 2, strict=True):
        axis.set_xlabel(f"${name[0]}$")
        axis.set_ylabel(f"${name[1]}$")
        axis.set_aspect("equal", adjustable="datalim")
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8)
    if scores:
        _draw_scores(axes[4], scores)
    save_figure(figure, path, dpi=160)


def draw_traversals(before: Traversal, after: Traversal, path: Path) -> None:
    """The traversals of a run and of its entangled twin side by side, as many rows as the smaller one has."""
    from PIL import Image, ImageDraw

    count = min(len(before.images), len(after.images))
    sheets = []
    for traversal in (before, after):
        tiles = [[enlarge(image) for image in row] for row in traversal.images[:count]]
        sheets.append(labelled_rows(tiles, [f"z{latent}" for latent in traversal.latents[:count]]))
    head = 34
    size = (sum(sheet.width for sheet in sheets), head + max(sheet.height for sheet in sheets))
    canvas = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(canvas)
    left = 0
    for sheet, title in zip(sheets, ("codes as trained", "entangled twin: same images, other codes"), strict=True):
        draw.text((left + 28, head / 2 + 4), title, QUIET, font(16), "lm")
        canvas.paste(sheet, (left, head))
        left += sheet.width
    save_picture(canvas, path)


def _lines(f: Bijection, lines: int = 13, steps: int = 201) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Grid lines through the middle of all other coordinates, evenly by probability: before f and after it."""
    from scipy.special import ndtri

    at, along = ndtri(np.linspace(0.02, 0.98, lines)), ndtri(np.linspace(0.005, 0.995, steps))
    before = []
    for moving in (0, 1):
        for level in at:
            normal = np.zeros((steps, f.dimensions))
            normal[:, moving], normal[:, 1 - moving] = along, level
            before.append(f.from_normal(normal))
    return before, [f(line) for line in before]


def _draw_lines(axis: Any, lines: list[np.ndarray], title: str) -> None:
    half = len(lines) // 2
    for position, line in enumerate(lines):
        axis.plot(*line[:, :2].T, color=_FIRST if position < half else _SECOND, linewidth=1.0)
    axis.set_title(title, fontsize=9, loc="left")


def _draw_scores(axis: Any, scores: Mapping[str, tuple[float, float]]) -> None:
    rows = np.arange(len(scores))[::-1]
    pairs = np.array(list(scores.values()))
    axis.hlines(rows, pairs.min(axis=1), pairs.max(axis=1), color=_QUIET, linewidth=1.5, zorder=1)
    axis.scatter(pairs[:, 0], rows, color=_FIRST, s=26, label="u", zorder=2)
    axis.scatter(pairs[:, 1], rows, color=_SECOND, s=26, marker="D", label="f(u)", zorder=2)
    axis.set_yticks(rows, list(scores), fontsize=8)
    axis.set_xlim(min(-0.03, pairs.min() - 0.03), max(1.03, pairs.max() + 0.03))
    axis.set_title("scores", fontsize=9, loc="left")
    axis.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


def _rank(values: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(values))

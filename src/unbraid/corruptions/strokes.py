"""Marks of a pen, stripes and splashes on digits, and their edges alone."""

import numpy as np

from unbraid.compiled import compiled
from unbraid.corruptions._canny import edges
from unbraid.corruptions._draws import Draws, integers
from unbraid.corruptions._filters import unit
from unbraid.corruptions._registry import register

__all__ = ["canny_edges", "dotted_line", "stripe", "zigzag"]

_SIDE = 28
"""Pens draw on a sheet of this height and width; other images are larger or smaller sheets."""


@register("stripe", "strokes", suite="mnist-c")
def stripe(images: np.ndarray, _draws: Draws) -> np.ndarray:
    """The left and the right quarter inverted."""
    quarter = images.shape[2] // 4
    out = images.copy()
    out[:, :, :quarter] = 255 - out[:, :, :quarter]
    out[:, :, -quarter:] = 255 - out[:, :, -quarter:]
    return out


@register("dotted_line", "strokes", suite="mnist-c")
def dotted_line(images: np.ndarray, draws: Draws) -> np.ndarray:
    """A dotted line from the left to the right edge."""
    lines = np.zeros((len(draws), 1, 4))
    lines[:, 0, 1::2] = integers(draws, 0, _SIDE - 1, 2)
    lines[:, 0, 2] = _SIDE - 1
    pen = _drawn(lines, *images.shape[1:3])
    columns = np.arange(images.shape[2]) * _SIDE // images.shape[2]
    pen[:, :, columns // 2 % 2 == 0] = 0
    return unit(images) + pen[..., None]


@register("zigzag", "strokes", suite="mnist-c")
def zigzag(images: np.ndarray, draws: Draws) -> np.ndarray:
    """A zigzag along a line from left to right."""
    lines = _zigzag(integers(draws, 0, _SIDE - 1, 1), integers(draws, -5, 5, 1))
    return unit(images) + _drawn(lines, *images.shape[1:3])[..., None]


def _zigzag(row: np.ndarray, rise: np.ndarray) -> np.ndarray:
    """Strokes [n,k,4] from column 2 to 25: corners two above and two below the line, four apart along it."""
    first, last, height = 2.0, 25.0, 2.0
    slope = np.arctan(rise / (last - first))  # [n, 1]
    length = (last - first) / np.cos(slope)
    along = np.hstack([np.tile([0.0, *np.arange(2.0, 24.0, 4.0)], (len(row), 1)), length])
    across = height * np.tile([0.0, 1, -1, 1, -1, 1, -1, 0], (len(row), 1))
    across[:, -1] = across[:, -2] * (1 - (length[:, 0] - along[:, -2]) / 2)  # it ends before it meets the line
    columns = first + along * np.cos(slope) - across * np.sin(slope)
    rows = row + along * np.sin(slope) + across * np.cos(slope)
    return np.stack([columns[:, :-1], rows[:, :-1], columns[:, 1:], rows[:, 1:]], axis=2)


def _drawn(lines: np.ndarray, height: int, width: int) -> np.ndarray:
    """Ink of strokes (column, row, column, row) [n,k,4] on a sheet of 28 x 28, float32 [n,height,width]."""
    out = np.zeros((len(lines), height, width), np.float32)
    _draw(lines, _SIDE / height, _SIDE / width, out)
    return out


@compiled
def _draw(lines: np.ndarray, tall: float, wide: float, out: np.ndarray) -> None:
    """A stroke is black where it passes and fades as log(1 - d / 2.3) + 1 with the vertical distance d."""
    for n in range(lines.shape[0]):
        for k in range(lines.shape[1]):
            left, top, right, bottom = lines[n, k]
            if right == left:
                continue
            for j in range(out.shape[2]):
                column = j * wide
                if column < np.floor(left) or column >= np.ceil(right):
                    continue
                middle = top + (bottom - top) / (right - left) * (column - left)
                for i in range(out.shape[1]):
                    distance = abs(i * tall - middle)
                    if distance < 2.3:
                        out[n, i, j] += min(1.0, max(0.0, np.log(1 - distance / 2.3) + 1))


@register("canny_edges", "strokes", (1.0,), suite="mnist-c")
def canny_edges(images: np.ndarray, _draws: Draws, sigma: float) -> np.ndarray:
    """The edges that Canny's detector finds, white on black."""
    grey = unit(images).mean(axis=3)
    found = edges(grey, sigma, low=0.1, high=0.2)
    return np.repeat(found[..., None], images.shape[3], axis=3).astype(np.uint8) * np.uint8(255)

"""Small pictures put together into one: rows with labels, grids with captions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from PIL import Image, ImageFont

__all__ = ["FRAME", "PAPER", "QUIET", "TEXT", "captioned", "enlarge", "font", "labelled_rows", "paste"]

GAP = 4
TEXT, QUIET, PAPER, FRAME = "#1f2430", "#6b7280", "#ffffff", "#d5d9e0"


def enlarge(image: np.ndarray, side: int = 64) -> np.ndarray:
    """A uint8 image ``[h, w, c]`` as RGB, every pixel repeated whole so that the longer side is about ``side``.

    One or two channels become grey (the first), of four the last is left out; larger images stay as they are.
    """
    factor = max(1, round(side / max(image.shape[:2])))
    rgb = np.repeat(image[:, :, :1], 3, axis=2) if image.shape[2] < 3 else image[:, :, :3]
    return rgb.repeat(factor, axis=0).repeat(factor, axis=1)


def labelled_rows(
    rows: Sequence[Sequence[np.ndarray]], labels: Sequence[str], notes: Sequence[str] | None = None
) -> Image.Image:
    """One row of equally large RGB tiles per label; ``notes`` stand in grey under the labels."""
    from PIL import Image, ImageDraw

    height, width = rows[0][0].shape[:2]
    columns = max(len(row) for row in rows)
    pitch = max(height + GAP, 40 if notes else 20)  # low tiles must leave room for the words beside them
    bold, small = font(15), font(12)
    left = 28 + int(max([*(bold.getlength(x) for x in labels), *(small.getlength(x) for x in notes or ())]))
    size = (left + columns * (width + GAP) + 16, len(rows) * pitch + 32)
    canvas = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(canvas)
    for i, row in enumerate(rows):
        middle = 16 + i * pitch + (pitch - GAP) / 2
        top = round(middle - height / 2)
        draw.text((left - 12, middle - (9 if notes else 0)), labels[i], TEXT, bold, "rm")
        if notes:
            draw.text((left - 12, middle + 10), notes[i], QUIET, small, "rm")
        for j, tile in enumerate(row):
            paste(canvas, tile, left + j * (width + GAP), top)
    return canvas


def captioned(tiles: Sequence[np.ndarray], captions: Sequence[str], columns: int) -> Image.Image:
    """A grid of equally large RGB tiles, each with a caption under it."""
    from PIL import Image, ImageDraw

    height, width = tiles[0].shape[:2]
    words = font(13)
    cell = max(width, int(max(words.getlength(caption) for caption in captions))) + 12
    rows = -(-len(tiles) // columns)
    canvas = Image.new("RGB", (min(columns, len(tiles)) * cell + 12, rows * (height + 30) + 12), PAPER)
    draw = ImageDraw.Draw(canvas)
    for i, (tile, caption) in enumerate(zip(tiles, captions, strict=True)):
        x, y = 6 + (i % columns) * cell, 10 + (i // columns) * (height + 30)
        paste(canvas, tile, x + (cell - width) // 2, y)
        draw.text((x + cell / 2, y + height + 12), caption, TEXT, words, "mm")
    return canvas


def paste(canvas: Image.Image, tile: np.ndarray, x: int, y: int) -> None:
    """Put a tile onto a picture, in a thin frame."""
    from PIL import Image, ImageDraw

    canvas.paste(Image.fromarray(tile), (x, y))
    ImageDraw.Draw(canvas).rectangle((x - 1, y - 1, x + tile.shape[1], y + tile.shape[0]), outline=FRAME)


def font(size: int, *, bold: bool = False) -> ImageFont.FreeTypeFont:
    """DejaVu Sans, which comes with matplotlib: the same on every machine, and it has every letter a name may need."""
    import matplotlib
    from PIL import ImageFont

    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return ImageFont.truetype(str(fonts / ("DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf")), size)

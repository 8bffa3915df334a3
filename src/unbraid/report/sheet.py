"""One picture of a data set: what each factor or class looks like, and some random images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unbraid.data import Dataset, FactorSpace
from unbraid.errors import UsageError
from unbraid.files import make_folders, save_picture, writing
from unbraid.report.tiles import FRAME, PAPER, QUIET, TEXT, enlarge, font, paste

if TYPE_CHECKING:
    from PIL import Image, ImageDraw, ImageFont

__all__ = ["Block", "Row", "contact_sheet", "draw_blocks", "sweep"]

_MARGIN, _GAP, _TICK = 36, 6, 18
_CLASSES = 24


@dataclass(frozen=True)
class Row:
    """Images side by side, with a label before them and ticks below."""

    label: str
    note: str
    tiles: np.ndarray
    ticks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Block:
    """Rows under a heading."""

    heading: str
    rows: list[Row]


def contact_sheet(
    dataset: Dataset, path: str | Path, *, columns: int = 12, random_rows: int = 3, seed: int = 0
) -> Path:
    """Write a PNG: one row per factor with the others held in the middle (or one row per class), then random images.

    A factor with more values than ``columns`` is shown at evenly spaced ones; the small numbers are its values.
    Pixels are enlarged whole, never smoothed, so what is seen is what a network gets.
    """
    if columns < 2:
        raise UsageError(f"columns must be at least 2, got {columns}")
    dataset.need_pictures("a contact sheet")
    rng = np.random.default_rng(seed)
    blocks = []
    if dataset.space is not None:
        blocks.append(Block("One factor at a time", _factor_rows(dataset, dataset.space, columns, rng)))
    elif dataset.has_labels:
        rows = _class_rows(dataset, columns, rng)
        few = f", {len(rows)} of {len(dataset.classes):,}" if len(rows) < len(dataset.classes) else ""
        blocks.append(Block(f"By class{few}", rows))
    drawn = [Row("", "", dataset.images(dataset.sample_index(columns, rng), rng)) for _ in range(random_rows)]
    blocks.append(Block("Random images", drawn))
    picture = draw_blocks(dataset, blocks, columns)
    path = Path(path)
    with writing(path):
        make_folders(path.parent)
        save_picture(picture, path)
    return path


def sweep(space: FactorSpace, position: int, columns: int) -> np.ndarray:
    """Factor values ``[n, K]`` along one factor, at most ``columns`` evenly spaced ones, the others in the middle.

    >>> sweep(FactorSpace(("a", "b"), (3, 5), ("ordinal", "ordinal")), 1, 3).tolist()
    [[1, 0], [1, 2], [1, 4]]
    """
    size = space.sizes[position]
    values = np.rint(np.linspace(0, size - 1, min(size, columns))).astype(np.int64)
    rows = np.tile([size // 2 for size in space.sizes], (len(values), 1))
    rows[:, position] = values
    return rows


def _factor_rows(dataset: Dataset, space: FactorSpace, columns: int, rng: np.random.Generator) -> list[Row]:
    rows = []
    for position, (name, size, kind) in enumerate(zip(space.names, space.sizes, space.kinds, strict=True)):
        factors = sweep(space, position, columns)
        tiles = dataset.images(space.index(factors), rng)
        rows.append(Row(name, f"{size} values, {kind}", tiles, tuple(map(str, factors[:, position]))))
    return rows


def _class_rows(dataset: Dataset, columns: int, rng: np.random.Generator) -> list[Row]:
    rows = []
    shown = np.unique(np.rint(np.linspace(0, len(dataset.classes) - 1, _CLASSES)).astype(np.int64))
    labels = dataset.labels()
    for number in shown:
        members = np.flatnonzero(labels == number)
        if len(members):
            chosen = np.sort(rng.choice(members, min(columns, len(members)), replace=False))
            rows.append(Row(dataset.classes[number], f"{len(members):,} images", dataset.images(chosen, rng)))
    return rows


def draw_blocks(dataset: Dataset, blocks: Sequence[Block], columns: int) -> Image.Image:
    """Rows of images under headings, ``columns`` wide, below the name of the data set."""
    from PIL import Image, ImageDraw

    rows = [row for block in blocks for row in block.rows]
    height, width = _tile(rows[0].tiles[0]).shape[:2]
    title, heading, body, small = font(30, bold=True), font(17, bold=True), font(17), font(13)
    subtitle = f"{dataset.card.title}: {len(dataset):,} images, {' x '.join(map(str, dataset.shape))}"
    left = _MARGIN + 20 + int(max(max(body.getlength(row.label), small.getlength(row.note)) for row in rows))
    words = max(title.getlength(dataset.name), body.getlength(subtitle))
    right = max(left + columns * (width + _GAP) - _GAP, int(_MARGIN + words))
    bottom = 124 + sum(64 + sum(height + _GAP + _TICK * bool(row.ticks) for row in block.rows) for block in blocks)
    canvas = Image.new("RGB", (right + _MARGIN, bottom), PAPER)
    draw = ImageDraw.Draw(canvas)
    draw.text((_MARGIN, 28), dataset.name, TEXT, title)
    draw.text((_MARGIN, 70), subtitle, QUIET, body)
    top = 104
    for block in blocks:
        draw.line((_MARGIN, top + 8, right, top + 8), FRAME)
        draw.text((_MARGIN, top + 22), block.heading, TEXT, heading)
        top += 56
        for row in block.rows:
            _draw_row(canvas, draw, row, left, top, body, small)
            top += height + _GAP + _TICK * bool(row.ticks)
        top += 8
    return canvas


def _draw_row(
    canvas: Image.Image,
    draw: ImageDraw.ImageDraw,
    row: Row,
    left: int,
    top: int,
    body: ImageFont.FreeTypeFont,
    small: ImageFont.FreeTypeFont,
) -> None:
    for column, image in enumerate(row.tiles):
        tile = _tile(image)
        height, width = tile.shape[:2]
        x = left + column * (width + _GAP)
        paste(canvas, tile, x, top)
        if row.ticks:
            draw.text((x + width / 2, top + height + _TICK / 2), row.ticks[column], QUIET, small, "mm")
    middle = top + _tile(row.tiles[0]).shape[0] / 2
    draw.text((left - 20, middle - 10), row.label, TEXT, body, "rm")
    draw.text((left - 20, middle + 11), row.note, QUIET, small, "rm")


def _tile(image: np.ndarray, side: int = 112) -> np.ndarray:
    """An image as RGB at about ``side`` pixels: small ones with every pixel repeated, large ones shrunk."""
    from PIL import Image

    tile = enlarge(image, side)
    height, width = tile.shape[:2]
    if max(height, width) <= 2 * side:
        return tile
    scale = side / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.asarray(Image.fromarray(np.ascontiguousarray(tile)).resize(size, Image.Resampling.LANCZOS))

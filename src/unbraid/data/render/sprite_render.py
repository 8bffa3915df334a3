"""The sprites of dSprites drawn from their factors, bit for bit.

Outlines are polygons whose vertices are rounded to 1/256 pixel; a pixel is white if its centre lies inside by the
even-odd rule. All arithmetic after the rounding is in integers, so there is nothing left to chance at the edges.
"""

from typing import Any

import numpy as np

from unbraid.compiled import compiled
from unbraid.data.space import FactorSpace

__all__ = ["SPACE", "render_sprites"]

SPACE = FactorSpace(
    names=("shape", "scale", "orientation", "x", "y"),
    sizes=(3, 6, 40, 32, 32),
    kinds=("categorical", "ordinal", "periodic", "ordinal", "ordinal"),
)
"""Shapes are square, ellipse, heart."""

SCALES = np.linspace(0.5, 1.0, 6)
ANGLES = np.linspace(0.0, 2.0 * np.pi, 40)
CENTRES = 16.0 + 32.0 * np.arange(32) / 31.0
"""In pixels of a 64 x 64 image, both across and down."""

UNIT = 9.6
"""Half the side of the square at scale 1, in pixels of a 64 x 64 image."""
GRID = 256
"""Vertices lie on multiples of 1/256 pixel."""


def outlines() -> tuple[np.ndarray, np.ndarray]:
    """Vertices of the three shapes at scale 1, across and down from the centre: ``[3, 150, 2]`` and their numbers."""
    vertices = np.zeros((3, 150, 2))
    vertices[0, :4] = UNIT * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    around = 2 * np.pi * np.arange(100) / 100
    vertices[1, :100] = np.stack([UNIT * 1.33 * np.cos(around), UNIT / 1.33 * np.sin(around)], axis=1)
    q = 2 * np.pi * np.arange(150) / 150
    height = 2 * UNIT / 29 * (13 * np.cos(q) - 5 * np.cos(2 * q) - 2 * np.cos(3 * q) - np.cos(4 * q)) + 0.15 * UNIT
    vertices[2] = np.stack([UNIT * np.sin(q) ** 3, -height], axis=1)
    return vertices, np.array([4, 100, 150])


def render_sprites(factors: np.ndarray, size: int = 64) -> np.ndarray:
    """Draw one sprite per row of factor values ``[n, 5]``: packed bits, uint8 ``[n, size * size / 8]``.

    ``size`` is 16, 32 or 64; the geometry shrinks with it, and every pixel stays black or white.
    """
    out = np.zeros((len(factors), size * size // 8), dtype=np.uint8)
    vertices, counts = outlines()
    _draw(np.ascontiguousarray(factors, np.int64), vertices, counts, SCALES, ANGLES, CENTRES, size, out)
    return out


@compiled
def _draw(
    factors: np.ndarray,
    vertices: np.ndarray,
    counts: np.ndarray,
    scales: np.ndarray,
    angles: np.ndarray,
    centres: np.ndarray,
    size: Any,
    out: np.ndarray,
) -> None:
    """Fill ``out`` with packed images, one row of pixels being one integer of ``size`` bits."""
    pixel = size / 64.0
    half = GRID // 2
    xs = np.empty(vertices.shape[1], np.int64)
    ys = np.empty(vertices.shape[1], np.int64)
    rows = np.zeros(size, np.uint64)
    full = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - size)
    for image in range(len(factors)):
        shape, scale, angle = factors[image, 0], scales[factors[image, 1]], angles[factors[image, 2]]
        cos, sin = np.cos(angle), np.sin(angle)
        count = counts[shape]
        for k in range(count):
            u, v = vertices[shape, k, 0], vertices[shape, k, 1]
            x = centres[factors[image, 3]] + scale * (u * cos + v * sin)
            y = centres[factors[image, 4]] + scale * (v * cos - u * sin)
            xs[k] = np.int64(np.rint(x * pixel * GRID))
            ys[k] = np.int64(np.rint(y * pixel * GRID))
        rows[:] = 0
        for k in range(count):
            x0, y0, x1, y1 = xs[k - 1 if k else count - 1], ys[k - 1 if k else count - 1], xs[k], ys[k]
            if y0 > y1:
                x0, y0, x1, y1 = x1, y1, x0, y0
            # Rows whose centre line is above the lower end or on it, and strictly below the upper end.
            first, last = (y0 - half) // GRID + 1, (y1 - half) // GRID
            for row in range(first, last + 1):
                # The edge turns every pixel over whose centre lies to its right, or on it.
                height = y1 - y0
                offset = (x0 - half) * height + (row * GRID + half - y0) * (x1 - x0)
                column = -(-offset // (GRID * height))
                if column <= 0:
                    rows[row] ^= full
                elif column < size:
                    rows[row] ^= full >> np.uint64(column)
        for row in range(size):
            for byte in range(size // 8):
                out[image, row * (size // 8) + byte] = (rows[row] >> np.uint64(size - 8 - 8 * byte)) & np.uint64(255)

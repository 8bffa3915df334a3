"""Grey pictures moved by an affine map: slanted, scaled, turned, shifted, read off by bilinear interpolation."""

import numpy as np

from unbraid.compiled import compiled

__all__ = ["move_glyphs"]


def move_glyphs(glyphs: np.ndarray, which: np.ndarray, moves: np.ndarray, size: int, unit: float) -> np.ndarray:
    """Draw glyphs ``[m, g, g]`` uint8 on black squares ``[n, size, size]``, the one at ``which[k]`` moved by row k.

    ``moves`` are ``[n, 5]``: scale, turn in radians (against the clock), shift across and down in pixels, slant (how
    far a point moves to the right for each pixel that it lies above the middle). ``unit`` pixels are one pixel of a
    glyph at scale 1. The glyph is slanted first and shifted last; what lies outside of it is black.
    """
    out = np.zeros((len(which), size, size), dtype=np.uint8)
    _move(np.ascontiguousarray(glyphs), np.ascontiguousarray(which, np.int64), np.ascontiguousarray(moves), unit, out)
    return out


@compiled
def _move(glyphs: np.ndarray, which: np.ndarray, moves: np.ndarray, unit: float, out: np.ndarray) -> None:
    """for every pixel, the place of the glyph that it came from, and the four pixels around that."""
    size, side = out.shape[1], glyphs.shape[1]
    middle, centre = (size - 1) / 2, (side - 1) / 2
    for image in range(len(which)):
        glyph = glyphs[which[image]]
        scale, angle, across, down, slant = moves[image]
        cos, sin = np.cos(angle) / (scale * unit), np.sin(angle) / (scale * unit)
        # Turned back, scaled back, then each row pushed back by its slant: columns of the inverse map.
        right_x, right_y = cos + slant * sin, sin
        down_x, down_y = -sin + slant * cos, cos
        for row in range(size):
            q = row - middle - down
            start_x = centre + down_x * q - right_x * (middle + across)
            start_y = centre + down_y * q - right_y * (middle + across)
            for column in range(size):
                x, y = start_x + right_x * column, start_y + right_y * column
                if -1.0 < x < side and -1.0 < y < side:
                    left, top = int(np.floor(x)), int(np.floor(y))
                    a, b = x - left, y - top
                    value = 0.0
                    if top >= 0:
                        if left >= 0:
                            value += (1 - a) * (1 - b) * glyph[top, left]
                        if left + 1 < side:
                            value += a * (1 - b) * glyph[top, left + 1]
                    if top + 1 < side:
                        if left >= 0:
                            value += (1 - a) * b * glyph[top + 1, left]
                        if left + 1 < side:
                            value += a * b * glyph[top + 1, left + 1]
                    out[image, row, column] = np.uint8(value + 0.5)

"""White polygons on black, drawn as Spriteworld draws them (Watters et al., 2019).

Outlines of unit area are scaled, turned and moved; their vertices are cut to whole pixels of a canvas five times as
fine, the polygon with its border is filled there, and each pixel is the mean of the 25 beneath it. The border makes
shapes a little fat: up to 7 % at scale 0.15, 4 % at 0.3. The original smooths with a wider filter; edges differ by
a few grey levels.
"""

from functools import cache
from typing import Any

import numpy as np

from unbraid.compiled import compiled

__all__ = ["ANGLES", "SHAPES", "outline", "render_polygons"]

SHAPES = ("square", "triangle", "star_4", "spoke_4")
ANGLES = np.arange(0, 360, 9)
"""Degrees, counter-clockwise."""
OVERSAMPLING = 5


def outline(shape: str) -> np.ndarray:
    """Vertices ``[v, 2]`` around the origin, y upwards, of a polygon with area 1.

    >>> outline("square").round(3).tolist()
    [[0.5, 0.5], [-0.5, 0.5], [-0.5, -0.5], [0.5, -0.5]]
    """
    quarter = np.arange(4) * np.pi / 2
    if shape == "triangle":
        vertices = _circle(np.pi / 2 + np.arange(3) * 2 * np.pi / 3)
    elif shape == "star_4":
        vertices = np.stack([2 * _circle(quarter), _circle(quarter + np.pi / 4)], axis=1).reshape(-1, 2)
    elif shape == "spoke_4":
        # A square core with an arm of length 1 outward from each side.
        corner, outward = _circle(quarter + np.pi / 4), _circle(quarter)
        before = np.roll(corner, 1, axis=0)
        vertices = np.stack([before, before + outward, corner + outward], axis=1).reshape(-1, 2)
    else:
        vertices = _circle(quarter + np.pi / 4)
    x, y = vertices.T
    area = (x * np.roll(y, -1) - np.roll(x, -1) * y).sum() / 2
    return vertices / np.sqrt(area)


def _circle(angles: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


@cache
def _outlines() -> tuple[np.ndarray, np.ndarray]:
    found = [outline(shape) for shape in SHAPES]
    vertices = np.zeros((len(found), max(map(len, found)), 2))
    for k, outer in enumerate(found):
        vertices[k, : len(outer)] = outer
    return vertices, np.array([len(outer) for outer in found])


def render_polygons(
    x: np.ndarray,
    y: np.ndarray,
    scale: np.ndarray,
    angle: np.ndarray,
    shape: np.ndarray,
    *,
    size: int = 64,
    channels: int = 3,
) -> np.ndarray:
    """Draw one sprite per entry: uint8 ``[n, size, size, channels]``.

    ``x``, ``y`` and ``scale`` are in units of the image side, y upwards; a sprite has the area ``scale ** 2``.
    ``angle`` is in degrees, ``shape`` a position in :data:`SHAPES`.
    """
    out = np.zeros((len(x), size, size, channels), dtype=np.uint8)
    vertices, counts = _outlines()
    columns = [np.ascontiguousarray(column, np.float64) for column in (x, y, scale, angle)]
    _draw(*columns, np.ascontiguousarray(shape, np.int64), vertices, counts, out)
    return out


@compiled
def _draw(
    x: np.ndarray,
    y: np.ndarray,
    scale: np.ndarray,
    angle: np.ndarray,
    shape: np.ndarray,
    vertices: np.ndarray,
    counts: np.ndarray,
    out: Any,
) -> None:
    """fill ``out`` row by row, five canvas rows to one of the image.

    Of what a span covers, ``wholly`` holds where whole columns begin and end, ``partly`` the corrections at both ends.
    """
    size, channels = out.shape[1], out.shape[3]
    canvas = OVERSAMPLING * size
    xs = np.empty(vertices.shape[1], np.int64)
    ys = np.empty(vertices.shape[1], np.int64)
    crossings = np.empty(vertices.shape[1])
    line = np.zeros(canvas, np.uint8)
    partly = np.zeros(size, np.int64)
    wholly = np.zeros(size + 1, np.int64)
    for image in range(len(x)):
        count = counts[shape[image]]
        cos, sin = np.cos(np.radians(angle[image])), np.sin(np.radians(angle[image]))
        lowest, highest, left, right = canvas, -1, canvas, -1
        for k in range(count):
            u, v = vertices[shape[image], k, 0], vertices[shape[image], k, 1]
            xs[k] = np.int64((x[image] + scale[image] * (u * cos - v * sin)) * canvas)
            ys[k] = np.int64((y[image] + scale[image] * (u * sin + v * cos)) * canvas)
            lowest, highest = min(lowest, ys[k]), max(highest, ys[k])
            left, right = min(left, xs[k]), max(right, xs[k])
        left, right = max(left, 0), min(right, canvas - 1)
        lowest, highest = max(lowest, 0), min(highest, canvas - 1)
        first, last = left // OVERSAMPLING, right // OVERSAMPLING
        if lowest > highest or left > right:
            continue
        for block in range(lowest // OVERSAMPLING, highest // OVERSAMPLING + 1):
            partly[:] = 0
            wholly[:] = 0
            for height in range(max(block * OVERSAMPLING, lowest), min((block + 1) * OVERSAMPLING - 1, highest) + 1):
                at_vertex = False
                for k in range(count):
                    at_vertex |= ys[k] == height
                if at_vertex:
                    line[:] = 0
                covered = -1
                # Spans just above this height and just below it: together the polygon with its border. They differ
                # only where a vertex lies.
                for below in range(2 if at_vertex else 1):
                    found = 0
                    for k in range(count):
                        before = k - 1 if k else count - 1
                        x0, y0, x1, y1 = xs[before], ys[before], xs[k], ys[k]
                        if y0 > y1:
                            x0, y0, x1, y1 = x1, y1, x0, y0
                        if (y0 < height <= y1) if below else (y0 <= height < y1):
                            at = x0 + (x1 - x0) * (height - y0) / (y1 - y0)
                            place = found
                            while place > 0 and crossings[place - 1] > at:
                                crossings[place] = crossings[place - 1]
                                place -= 1
                            crossings[place] = at
                            found += 1
                    for pair in range(0, found - 1, 2):
                        start = max(int(np.ceil(crossings[pair] - 0.5)), 0)
                        stop = min(int(np.floor(crossings[pair + 1] + 0.5)), canvas - 1)
                        if at_vertex:
                            if start <= stop:
                                line[start : stop + 1] = 1
                            continue
                        # Rounding may let neighbours touch; from left to right, what is covered counts once.
                        start = max(start, covered + 1)
                        if start <= stop:
                            covered = stop
                            from_column, to_column = start // OVERSAMPLING, stop // OVERSAMPLING
                            partly[from_column] -= start - OVERSAMPLING * from_column
                            partly[to_column] += stop + 1 - OVERSAMPLING * to_column
                            wholly[from_column] += OVERSAMPLING
                            wholly[to_column] -= OVERSAMPLING
                if at_vertex:
                    for fine in range(OVERSAMPLING * first, OVERSAMPLING * (last + 1)):
                        partly[fine // OVERSAMPLING] += line[fine]
            # The canvas has y upwards, the image downwards.
            row = size - 1 - block
            through = 0
            for column in range(first, last + 1):
                through += wholly[column]
                grey = np.uint8((255 * (through + partly[column]) + 12) // (OVERSAMPLING * OVERSAMPLING))
                for channel in range(channels):
                    out[image, row, column, channel] = grey

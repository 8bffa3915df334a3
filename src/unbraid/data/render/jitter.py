"""One small random shift and turn for both images of a pair."""

import numpy as np

from unbraid.compiled import compiled

__all__ = ["jitter_pairs"]

SHIFT, TURN = 5, 2.0
"""Largest shift in pixels and turn in degrees."""


def jitter_pairs(
    first: np.ndarray, second: np.ndarray, rng: np.random.Generator, *, shift: int = SHIFT, turn: float = TURN
) -> tuple[np.ndarray, np.ndarray]:
    """Shift and turn images ``[n, h, w, c]`` about their middle, both of a pair alike; what enters is black.

    Shifts are whole pixels up to ``shift`` each way, turns up to ``turn`` degrees; pixels take the nearest value, so
    masks stay black and white.
    """
    n = len(first)
    moves = np.concatenate([rng.integers(-shift, shift + 1, size=(n, 2)), rng.uniform(-turn, turn, (n, 1))], axis=1)
    moved = []
    for images in (first, second):
        out = np.zeros_like(images)
        _move(np.ascontiguousarray(images), moves, out)
        moved.append(out)
    return moved[0], moved[1]


@compiled
def _move(images: np.ndarray, moves: np.ndarray, out: np.ndarray) -> None:
    """for every pixel that something bright can reach, the one it came from."""
    height, width, channels = images.shape[1], images.shape[2], images.shape[3]
    middle_x, middle_y = (width - 1) / 2, (height - 1) / 2
    for image in range(len(images)):
        top, bottom, left, right = height, -1, width, -1
        for row in range(height):
            for column in range(width):
                for channel in range(channels):
                    if images[image, row, column, channel]:
                        top, bottom = min(top, row), row
                        left, right = min(left, column), max(right, column)
        angle = np.radians(moves[image, 2])
        cos, sin = np.cos(angle), np.sin(angle)
        # Where the corners of the bright box go, with a pixel to spare for rounding.
        first_row, last_row, first_column, last_column = height, -1, width, -1
        for x in (left, right + 1):
            for y in (top, bottom + 1):
                p, q = x - middle_x - 0.5, y - middle_y - 0.5
                column = p * cos - q * sin + middle_x + moves[image, 0]
                row = p * sin + q * cos + middle_y + moves[image, 1]
                first_row, last_row = min(first_row, int(np.floor(row)) - 1), max(last_row, int(np.ceil(row)) + 1)
                first_column = min(first_column, int(np.floor(column)) - 1)
                last_column = max(last_column, int(np.ceil(column)) + 1)
        for row in range(max(first_row, 0), min(last_row, height - 1) + 1):
            v = row - middle_y - moves[image, 1]
            from_x = middle_x + 0.5 - (middle_x + moves[image, 0]) * cos + v * sin
            from_y = middle_y + 0.5 + (middle_x + moves[image, 0]) * sin + v * cos
            for column in range(max(first_column, 0), min(last_column, width - 1) + 1):
                x, y = from_x + column * cos, from_y - column * sin
                if 0 <= x < width and 0 <= y < height:
                    for channel in range(channels):
                        out[image, row, column, channel] = images[image, int(y), int(x), channel]

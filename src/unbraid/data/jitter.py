"""One small random shift and turn for both images of a pair."""

import numpy as np

from unbraid.data.compiled import compiled

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
    """for every pixel the one it came from."""
    height, width, channels = images.shape[1], images.shape[2], images.shape[3]
    middle_x, middle_y = (width - 1) / 2, (height - 1) / 2
    for image in range(len(images)):
        angle = np.radians(moves[image, 2])
        cos, sin = np.cos(angle), np.sin(angle)
        for row in range(height):
            v = row - middle_y - moves[image, 1]
            from_x = middle_x + 0.5 - (middle_x + moves[image, 0]) * cos + v * sin
            from_y = middle_y + 0.5 + (middle_x + moves[image, 0]) * sin + v * cos
            for column in range(width):
                x, y = from_x + column * cos, from_y - column * sin
                if 0 <= x < width and 0 <= y < height:
                    for channel in range(channels):
                        out[image, row, column, channel] = images[image, int(y), int(x), channel]

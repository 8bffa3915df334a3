"""Geometry of digits: sheared, shrunk, turned and shifted."""

import numpy as np

from unbraid.compiled import compiled
from unbraid.corruptions._draws import Draws, bits
from unbraid.corruptions._registry import register

__all__ = ["rotate", "scale", "shear", "translate"]


@register("shear", "geometric", (0.4,), suite="mnist-c")
def shear(images: np.ndarray, draws: Draws, angle: float) -> np.ndarray:
    """Sheared by an angle to the left or to the right."""
    angles = angle * _signs(draws, 1)[:, 0]
    return _mapped(images, np.cos(angles), 0 * angles, -np.sin(angles), 1 + 0 * angles)


@register("scale", "geometric", (0.7,), suite="mnist-c")
def scale(images: np.ndarray, draws: Draws, factor: float) -> np.ndarray:
    """Shrunk about the centre."""
    larger = np.full(len(draws), 1 / factor)
    return _mapped(images, larger, 0 * larger, 0 * larger, larger)


@register("rotate", "geometric", (0.4,), suite="mnist-c")
def rotate(images: np.ndarray, draws: Draws, angle: float) -> np.ndarray:
    """Turned by an angle to the left or to the right."""
    angles = angle * _signs(draws, 1)[:, 0]
    return _mapped(images, np.cos(angles), np.sin(angles), -np.sin(angles), np.cos(angles))


@register("translate", "geometric", (3,), suite="mnist-c")
def translate(images: np.ndarray, draws: Draws, pixels: int) -> np.ndarray:
    """Shifted along the diagonals, by three pixels of 28 each way."""
    height, width = images.shape[1:3]
    shift = round(pixels * min(height, width) / 28)
    out = np.zeros_like(images)
    for image, target, (down, right) in zip(images, out, shift * _signs(draws, 2), strict=True):
        to = slice(max(0, down), height + min(0, down)), slice(max(0, right), width + min(0, right))
        come = slice(max(0, -down), height - max(0, down)), slice(max(0, -right), width - max(0, right))
        target[to] = image[come]
    return out


def _signs(draws: Draws, count: int) -> np.ndarray:
    """Minus or plus one for each image, [n,count]."""
    return (bits(draws, count) & 1) * 2 - np.int64(1)


def _mapped(images: np.ndarray, yy: np.ndarray, yx: np.ndarray, xy: np.ndarray, xx: np.ndarray) -> np.ndarray:
    """Each image read at ``(yy * down + yx * right, xy * down + xx * right)`` from its centre; black outside."""
    out = np.empty_like(images)
    _read_along(images, np.stack([yy, yx, xy, xx], axis=1).astype(np.float32), out)
    return out


@compiled
def _read_along(images: np.ndarray, maps: np.ndarray, out: np.ndarray) -> None:
    """Linear between pixels; each neighbour that lies outside counts as black."""
    count, height, width, channels = images.shape
    one, half = np.float32(1), np.float32(0.5)
    middle_y, middle_x = np.float32((height - 1) / 2), np.float32((width - 1) / 2)
    for n in range(count):
        image = images[n]
        yy, yx, xy, xx = maps[n, 0], maps[n, 1], maps[n, 2], maps[n, 3]
        for i in range(height):
            down = np.float32(i) - middle_y
            for j in range(width):
                right = np.float32(j) - middle_x
                y, x = yy * down + yx * right + middle_y, xy * down + xx * right + middle_x
                top, left = int(np.floor(y)), int(np.floor(x))
                dy, dx = y - np.float32(top), x - np.float32(left)
                upper, lower = 0 <= top < height, -1 <= top < height - 1
                before, after = 0 <= left < width, -1 <= left < width - 1
                for c in range(channels):
                    found = half
                    if upper and before:
                        found += (one - dy) * (one - dx) * np.float32(image[top, left, c])
                    if upper and after:
                        found += (one - dy) * dx * np.float32(image[top, left + 1, c])
                    if lower and before:
                        found += dy * (one - dx) * np.float32(image[top + 1, left, c])
                    if lower and after:
                        found += dy * dx * np.float32(image[top + 1, left + 1, c])
                    out[n, i, j, c] = np.uint8(found)

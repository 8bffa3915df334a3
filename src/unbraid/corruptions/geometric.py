"""Geometry of digits: sheared, shrunk, turned and shifted."""

import numpy as np

from unbraid.corruptions._draws import Draws, bits
from unbraid.corruptions._filters import bilinear, unit
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
    height, width = images.shape[1:3]
    centre_y, centre_x = (height - 1) / 2, (width - 1) / 2
    down, right = np.arange(height)[:, None] - centre_y, np.arange(width)[None, :] - centre_x
    yy, yx, xy, xx = (entry[:, None, None] for entry in (yy, yx, xy, xx))
    return bilinear(unit(images), yy * down + yx * right + centre_y, xy * down + xx * right + centre_x)

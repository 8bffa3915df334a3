"""Blurs: out of focus, behind glass, in motion, zooming in, and Gaussian."""

from math import ceil

import numpy as np

from unbraid.compiled import compiled
from unbraid.corruptions._draws import Draws, each
from unbraid.corruptions._filters import blurred, filtered, line_taps, scaled, unit, zoomed
from unbraid.corruptions._registry import register

__all__ = ["defocus_blur", "digits_glass_blur", "digits_motion_blur", "disk", "gaussian_blur", "glass_blur"]
__all__ += ["motion_blur", "zoom_blur"]


@register("defocus_blur", "blur", ((3.0, 0.1), (4.0, 0.5), (6.0, 0.5), (8.0, 0.5), (10.0, 0.5)), suite="imagenet-c")
def defocus_blur(images: np.ndarray, _draws: Draws, radius: float, softness: float) -> np.ndarray:
    """Every point spread over a disk, as a lens out of focus does."""
    kernel = disk(max(1.0, scaled(radius, images)), softness)
    centre = len(kernel) // 2
    taps = np.argwhere(kernel > 1e-6)
    return filtered(unit(images), taps - centre, kernel[tuple(taps.T)], "reflect")


def disk(radius: float, softness: float) -> np.ndarray:
    """All pixels within the radius alike, smoothed by a Gaussian of 3 pixels (5 above a radius of 8); sums to 1."""
    reach = int(radius)
    within = np.add.outer(np.arange(-reach, reach + 1) ** 2, np.arange(-reach, reach + 1) ** 2) <= radius**2
    margin = 1 if radius <= 8 else 2
    taps = np.exp(-0.5 * (np.arange(-margin, margin + 1) / softness) ** 2)
    kernel = np.pad(within / within.sum(), 2 * margin)
    for axis in (0, 1):
        kernel = sum(t * np.roll(kernel, k - margin, axis) for k, t in enumerate(taps / taps.sum()))
    inner = slice(margin, -margin)
    return np.asarray(kernel[inner, inner])


@register("gaussian_blur", "blur", (1.0, 2.0, 3.0, 4.0, 6.0), suite="imagenet-c-holdout")
def gaussian_blur(images: np.ndarray, _draws: Draws, sigma: float) -> np.ndarray:
    """Every point spread as a Gaussian."""
    return blurred(unit(images), scaled(sigma, images))


@register("glass_blur", "blur", ((0.7, 1, 2), (0.9, 2, 1), (1.0, 2, 3), (1.1, 3, 2), (1.5, 4, 2)), suite="imagenet-c")
def glass_blur(images: np.ndarray, draws: Draws, sigma: float, distance: int, rounds: int) -> np.ndarray:
    """Blurred, near pixels swapped, and blurred again, as frosted glass does."""
    return _glass(images, draws, scaled(sigma, images), max(1, round(scaled(distance, images))), rounds, 1.0)


@register("glass_blur", "blur", ((0.7, 1, 2),), suite="mnist-c")
def digits_glass_blur(images: np.ndarray, draws: Draws, sigma: float, distance: int, rounds: int) -> np.ndarray:
    """Blurred, half of the pixels swapped with near ones, and blurred again."""
    return _glass(images, draws, sigma, distance, rounds, 0.5)


def _glass(images: np.ndarray, draws: Draws, sigma: float, distance: int, rounds: int, chance: float) -> np.ndarray:
    n, height, width, _ = images.shape
    found = blurred(unit(images), sigma)
    moves = np.empty((n, rounds, height, width, 2), np.int8)
    for rng, move in zip(draws, moves, strict=True):
        move[:] = rng.integers(-distance, distance, move.shape, np.int8)
        if chance < 1:
            move[rng.random(move.shape[:-1], np.float32) >= chance] = 0
    _swap(found, moves, distance)
    return blurred(found, sigma)


@compiled
def _swap(images: np.ndarray, moves: np.ndarray, distance: int) -> None:
    """From the lower right, each pixel changes places with the one its move points at."""
    count, height, width, channels = images.shape
    for n in range(count):
        for k in range(moves.shape[1]):
            for i in range(height - distance, distance, -1):
                for j in range(width - distance, distance, -1):
                    row, column = i + moves[n, k, i, j, 0], j + moves[n, k, i, j, 1]
                    for c in range(channels):
                        kept = images[n, i, j, c]
                        images[n, i, j, c] = images[n, row, column, c]
                        images[n, row, column, c] = kept


@register("motion_blur", "blur", ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15)), suite="imagenet-c")
def motion_blur(images: np.ndarray, draws: Draws, radius: float, sigma: float) -> np.ndarray:
    """Every point drawn out along a line of random slope, as a moving camera does."""
    return digits_motion_blur(images, draws, scaled(radius, images), scaled(sigma, images))


@register("motion_blur", "blur", ((10, 3),), suite="mnist-c")
def digits_motion_blur(images: np.ndarray, draws: Draws, radius: float, sigma: float) -> np.ndarray:
    """Every point drawn out along a line of random slope."""
    return filtered(unit(images), *line_taps(radius, sigma, each(draws, -45, 45)))


@register(
    "zoom_blur",
    "blur",
    ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03)),
    suite="imagenet-c",
)
def zoom_blur(images: np.ndarray, _draws: Draws, end: float, step: float) -> np.ndarray:
    """The mean of the image and enlarged copies of it, as zooming in during exposure does."""
    factors = [1.0, *(1 + step * k for k in range(ceil((end - 1) / step - 1e-6)))]
    return zoomed(unit(images), factors, *images.shape[1:3]) / len(factors)

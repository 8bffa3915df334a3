"""Blurs: out of focus, behind glass, in motion, zooming in, and Gaussian."""

from math import ceil

import numpy as np

from unbraid.compiled import compiled
from unbraid.corruptions._draws import Draws, bits, each
from unbraid.corruptions._filters import blurred, filtered, line_taps, scaled, unit, zoomed
from unbraid.corruptions._registry import register

__all__ = ["defocus_blur", "digits_glass_blur", "digits_motion_blur", "disk", "gaussian_blur", "glass_blur"]
__all__ += ["motion_blur", "zoom_blur"]


@register("defocus_blur", "blur", ((3.0, 0.1), (4.0, 0.5), (6.0, 0.5), (8.0, 0.5), (10.0, 0.5)), suite="imagenet-c")
def defocus_blur(images: np.ndarray, _draws: Draws, radius: float, softness: float) -> np.ndarray:
    """Every point spread over a disk, as a lens out of focus does."""
    radius = max(1.0, scaled(radius, images))
    n, height, width, channels = images.shape
    steps = np.arange(-int(radius), int(radius) + 1)
    halves = np.sqrt(radius**2 - steps**2).astype(np.int64)
    taps = _soft(radius, softness)
    reach = int(radius) + len(taps) // 2
    rows, columns = (np.pad(np.arange(side), reach, "reflect") for side in (height, width))
    weights = (taps / np.sqrt((2 * halves + 1).sum())).astype(np.float32)
    out = np.empty_like(images)
    flat = [array.reshape(n, height, width * channels) for array in (images, out)]
    _defocus(flat[0], rows, columns, halves, weights, channels, flat[1])
    return out


@compiled
def _defocus(
    images: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    halves: np.ndarray,
    weights: np.ndarray,
    channels: int,
    out: np.ndarray,
) -> None:
    """Rows of the disk as differences of running sums, then the soft edge down and across."""
    count, height, length = images.shape
    margin, radius = len(weights) // 2, len(halves) // 2
    sums = np.zeros((height, (len(columns) + 1) * channels), np.int32)
    inner = length + 2 * margin * channels
    disks = np.empty((height + 2 * margin, inner), np.int32)
    line, total = np.empty(inner, np.float32), np.empty(length, np.float32)
    for n in range(count):
        for i in range(height):
            source, target = images[n, i], sums[i]
            for x in range(len(columns)):
                at, start = x * channels, columns[x] * channels
                for c in range(channels):
                    target[at + channels + c] = target[at + c] + source[start + c]
        for i in range(height + 2 * margin):
            row = disks[i]
            for k in range(len(halves)):
                half = halves[k]
                whole, left = sums[rows[i + k]], (radius - half) * channels
                right = (radius + half + 1) * channels
                begin, end = whole[left : left + inner], whole[right : right + inner]
                if k == 0:
                    for j in range(inner):
                        row[j] = end[j] - begin[j]
                else:
                    for j in range(inner):
                        row[j] += end[j] - begin[j]
        for i in range(height):
            for k in range(len(weights)):
                weight, row = weights[k], disks[i + k]
                if k == 0:
                    for j in range(inner):
                        line[j] = weight * np.float32(row[j])
                else:
                    for j in range(inner):
                        line[j] += weight * np.float32(row[j])
            for k in range(len(weights)):
                weight, part = weights[k], line[k * channels : k * channels + length]
                if k == 0:
                    for j in range(length):
                        total[j] = weight * part[j] + np.float32(0.5)
                else:
                    for j in range(length):
                        total[j] += weight * part[j]
            target = out[n, i]
            for j in range(length):
                target[j] = np.uint8(total[j])


def _soft(radius: float, softness: float) -> np.ndarray:
    """A Gaussian of 3 pixels, 5 above a radius of 8; sums to 1."""
    margin = 1 if radius <= 8 else 2
    taps = np.exp(-0.5 * (np.arange(-margin, margin + 1) / softness) ** 2)
    return np.asarray(taps / taps.sum())


def disk(radius: float, softness: float) -> np.ndarray:
    """All pixels within the radius alike, smoothed by a Gaussian of 3 pixels (5 above a radius of 8); sums to 1."""
    reach = int(radius)
    within = np.add.outer(np.arange(-reach, reach + 1) ** 2, np.arange(-reach, reach + 1) ** 2) <= radius**2
    taps = _soft(radius, softness)
    margin = len(taps) // 2
    kernel = np.pad(within / within.sum(), 2 * margin)
    for axis in (0, 1):
        kernel = sum(t * np.roll(kernel, k - margin, axis) for k, t in enumerate(taps))
    inner = slice(margin, -margin)
    return np.asarray(kernel[inner, inner])


@register("gaussian_blur", "blur", (1.0, 2.0, 3.0, 4.0, 6.0), suite="imagenet-c-holdout")
def gaussian_blur(images: np.ndarray, _draws: Draws, sigma: float) -> np.ndarray:
    """Every point spread as a Gaussian."""
    return blurred(images, scaled(sigma, images), as_bytes=True)


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
    found = blurred(images, sigma, as_bytes=True)
    moves = bits(draws, rounds, height, width, 2)
    _swap(found.reshape(n, height, -1), moves, distance, round(chance * 2), images.shape[3])
    return blurred(found, sigma, as_bytes=True)


@compiled
def _swap(images: np.ndarray, moves: np.ndarray, distance: int, halves: int, channels: int) -> None:
    """From the lower right, each pixel changes places with the one its move points at, or half of them do.

    The upper bits of a number are the move, its last one says whether it is made.
    """
    count, height, _ = images.shape
    width = images.shape[2] // channels
    pixels = np.empty((height, width), np.uint32)
    for n in range(count):
        for i in range(height):
            row, line = images[n, i], pixels[i]
            for j in range(width):
                if channels == 3:
                    line[j] = row[3 * j] | row[3 * j + 1] << 8 | row[3 * j + 2] << 16
                else:
                    line[j] = row[j]
        for k in range(moves.shape[1]):
            for i in range(height - distance, distance, -1):
                for j in range(width - distance, distance, -1):
                    down, right = np.int64(moves[n, k, i, j, 0]), np.int64(moves[n, k, i, j, 1])
                    if halves == 1 and down & 1:
                        continue
                    y, x = i - distance + (down * 2 * distance >> 16), j - distance + (right * 2 * distance >> 16)
                    kept = pixels[i, j]
                    pixels[i, j] = pixels[y, x]
                    pixels[y, x] = kept
        for i in range(height):
            row, line = images[n, i], pixels[i]
            for j in range(width):
                if channels == 3:
                    row[3 * j], row[3 * j + 1], row[3 * j + 2] = line[j] & 255, line[j] >> 8 & 255, line[j] >> 16
                else:
                    row[j] = line[j]


@register("motion_blur", "blur", ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15)), suite="imagenet-c")
def motion_blur(images: np.ndarray, draws: Draws, radius: float, sigma: float) -> np.ndarray:
    """Every point drawn out along a line of random slope, as a moving camera does."""
    return digits_motion_blur(images, draws, scaled(radius, images), scaled(sigma, images))


@register("motion_blur", "blur", ((10, 3),), suite="mnist-c")
def digits_motion_blur(images: np.ndarray, draws: Draws, radius: float, sigma: float) -> np.ndarray:
    """Every point drawn out along a line of random slope."""
    return filtered(images, *line_taps(radius, sigma, each(draws, -45, 45)))


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

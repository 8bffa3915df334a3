"""Filters by few taps, shared by blurs, weather and splashes: compiled sums of shifted rows."""

from collections.abc import Sequence

import numpy as np

from unbraid.compiled import compiled

__all__ = ["bilinear", "blurred", "filtered", "gaussian_taps", "line_taps", "scaled", "unit", "zoomed"]

_SIDE = 224
"""Lengths in the settings of ImageNet-C are pixels of images of this side."""


def unit(images: np.ndarray) -> np.ndarray:
    """Bytes as float32 in [0,1]."""
    return images * np.float32(1 / 255)


def scaled(length: float, images: np.ndarray) -> float:
    """A length at 224 pixels as one at this size: times the root of the ratio of the shorter sides.

    The same number of pixels would wipe out a small image, and the same share of the image would be less than a pixel;
    the root lies between the two.
    """
    return length * float(np.sqrt(min(images.shape[1:3]) / _SIDE))


def filtered(images: np.ndarray, taps: np.ndarray, weights: np.ndarray, mode: str = "edge") -> np.ndarray:
    """Weighted sums of shifted images, float32 [n,h,w,c].

    ``taps`` are shifts (down, right), [k,2] for all images or [n,k,2]; ``weights`` [k]. ``mode`` is how ``np.pad`` goes
    on beyond the edge.
    """
    n, height, width, channels = images.shape
    taps = np.broadcast_to(taps, (n, *taps.shape[-2:]))
    reach = np.abs(taps).max(axis=(0, 1))
    padded = padded_by(images, int(reach[0]), int(reach[1]), mode)
    out = np.empty((n, height, width * channels), np.float32)
    _sum_of_shifts(
        padded.reshape(n, padded.shape[1], -1),
        np.ascontiguousarray((taps + reach).astype(np.int64)),
        weights.astype(np.float32),
        channels,
        out,
    )
    return out.reshape(images.shape)


def padded_by(images: np.ndarray, down: int, right: int, mode: str) -> np.ndarray:
    """Images with a margin, as ``np.pad`` does it, by one indexing per axis."""
    found = images
    for axis, margin in ((1, down), (2, right)):
        if margin:
            found = found.take(np.pad(np.arange(images.shape[axis]), margin, mode), axis)  # type: ignore[call-overload]
    return np.ascontiguousarray(found, np.float32)


@compiled
def _sum_of_shifts(padded: np.ndarray, taps: np.ndarray, weights: np.ndarray, channels: int, out: np.ndarray) -> None:
    """Four taps at a time: each pass over a row costs more in reading and writing than in adding."""
    count, length = weights.shape[0], out.shape[2]
    for n in range(out.shape[0]):
        for i in range(out.shape[1]):
            row = out[n, i]
            row[:] = 0
            for k in range(0, count - count % 4, 4):
                a, b, c, d = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
                x, y = taps[n, k, 1] * channels, taps[n, k + 1, 1] * channels
                z, w = taps[n, k + 2, 1] * channels, taps[n, k + 3, 1] * channels
                first = padded[n, i + taps[n, k, 0], x : x + length]
                second = padded[n, i + taps[n, k + 1, 0], y : y + length]
                third = padded[n, i + taps[n, k + 2, 0], z : z + length]
                fourth = padded[n, i + taps[n, k + 3, 0], w : w + length]
                for j in range(length):
                    row[j] += (a * first[j] + b * second[j]) + (c * third[j] + d * fourth[j])
            for k in range(count - count % 4, count):
                x = taps[n, k, 1] * channels
                weight, source = weights[k], padded[n, i + taps[n, k, 0], x : x + length]
                for j in range(length):
                    row[j] += weight * source[j]


def gaussian_taps(sigma: float, truncate: float = 4.0) -> np.ndarray:
    """Weights of a Gaussian at whole pixels, cut off at ``truncate`` standard deviations and normed."""
    reach = int(truncate * sigma + 0.5)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / max(sigma, 1e-6)) ** 2)
    return weights / weights.sum()


def blurred(images: np.ndarray, sigma: float, mode: str = "edge", truncate: float = 4.0) -> np.ndarray:
    """Gaussian blur, float32 [n,h,w,c]: down, then across."""
    weights = gaussian_taps(sigma, truncate)
    steps = np.arange(len(weights)) - len(weights) // 2
    zero = np.zeros_like(steps)
    down = filtered(images, np.stack([steps, zero], 1), weights, mode)
    return filtered(down, np.stack([zero, steps], 1), weights, mode)


def line_taps(radius: float, sigma: float, degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shifts [n,k,2] and weights [k] of a blur along a line that begins at the pixel and fades as a Gaussian.

    As ImageMagick's: 2 radius + 1 steps of one pixel, each rounded to the grid.
    """
    steps = np.arange(2 * int(np.ceil(radius)) + 1)
    weights = np.exp(-0.5 * (steps / sigma) ** 2)
    angles = np.deg2rad(degrees)[:, None]
    taps = np.stack([steps * np.sin(angles), steps * np.cos(angles)], axis=2)
    return np.ceil(taps - 0.5).astype(np.int64), weights / weights.sum()


def zoomed(images: np.ndarray, factors: Sequence[float], height: int, width: int) -> np.ndarray:
    """The sum of enlarged copies about the centre, float32 [n,height,width,c]: linear between pixels."""
    n, _, _, channels = images.shape
    out = np.zeros((n, height, width * channels), np.float32)
    source = np.ascontiguousarray(images, np.float32)
    for factor in factors:
        rows, below = _places(images.shape[1], height, factor)
        columns, beside = _places(images.shape[2], width, factor)
        _add_enlarged(source, rows, below, columns, beside, out)
    return out.reshape(n, height, width, channels)


def _places(size: int, target: int, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """Where the pixels of an enlarged axis lie in the source: whole part, and how far to the next pixel."""
    place = (np.arange(target) - (target - 1) / 2) / factor + (size - 1) / 2
    place = np.clip(place, 0, size - 1)
    whole = np.minimum(place.astype(np.int64), size - 2)
    return whole, (place - whole).astype(np.float32)


@compiled
def _add_enlarged(
    source: np.ndarray, rows: np.ndarray, below: np.ndarray, columns: np.ndarray, beside: np.ndarray, out: np.ndarray
) -> None:
    channels = source.shape[3]
    line = np.empty(source.shape[2] * channels, np.float32)
    for n in range(out.shape[0]):
        for i in range(len(rows)):
            upper = source[n, rows[i]].reshape(-1)
            lower = source[n, rows[i] + 1].reshape(-1)
            share = below[i]
            for j in range(len(line)):
                line[j] = upper[j] + share * (lower[j] - upper[j])
            for j in range(len(columns)):
                start = columns[j] * channels
                for c in range(channels):
                    left = line[start + c]
                    out[n, i, j * channels + c] += left + beside[j] * (line[start + channels + c] - left)


def bilinear(images: np.ndarray, down: np.ndarray, right: np.ndarray, beyond: str = "black") -> np.ndarray:
    """Images read at places (down, right) [n,h,w], linear between pixels; outside black, or ``mirrored``."""
    out = np.empty(images.shape, np.float32)
    places = np.ascontiguousarray(down, np.float32), np.ascontiguousarray(right, np.float32)
    _read(np.ascontiguousarray(images, np.float32), *places, beyond == "mirrored", out)
    return out


@compiled
def _read(images: np.ndarray, down: np.ndarray, right: np.ndarray, mirrored: bool, out: np.ndarray) -> None:
    count, height, width, channels = images.shape
    for n in range(count):
        for i in range(height):
            for j in range(width):
                y, x = down[n, i, j], right[n, i, j]
                top, left = int(np.floor(y)), int(np.floor(x))
                dy, dx = y - top, x - left
                if 0 <= top < height - 1 and 0 <= left < width - 1:
                    nw, ne, sw, se = (1 - dy) * (1 - dx), (1 - dy) * dx, dy * (1 - dx), dy * dx
                    upper, lower = images[n, top], images[n, top + 1]
                    for k in range(channels):
                        above = nw * upper[left, k] + ne * upper[left + 1, k]
                        out[n, i, j, k] = above + (sw * lower[left, k] + se * lower[left + 1, k])
                    continue
                for c in range(channels):
                    out[n, i, j, c] = 0
                for corner in range(4):
                    row, column = top + corner // 2, left + corner % 2
                    weight = (dy if corner // 2 else 1 - dy) * (dx if corner % 2 else 1 - dx)
                    if mirrored:
                        row, column = row % (2 * height), column % (2 * width)
                        row, column = min(row, 2 * height - 1 - row), min(column, 2 * width - 1 - column)
                    elif row < 0 or row >= height or column < 0 or column >= width:
                        continue
                    for c in range(channels):
                        out[n, i, j, c] += weight * images[n, row, column, c]

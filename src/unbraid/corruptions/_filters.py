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


def filtered(images: np.ndarray, taps: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted sums of shifted images, of bytes as bytes and of floats as float32 [n,h,w,c]; edges go on beyond.

    ``taps`` are shifts (down, right) [n,k,2], ``weights`` [k].
    """
    n, height, width, channels = images.shape
    reach = np.abs(taps).max(axis=(0, 1))
    rows, columns = (np.pad(np.arange(side), int(far), "edge") for side, far in ((height, reach[0]), (width, reach[1])))
    out = np.empty(images.shape, images.dtype)
    flat = [array.reshape(n, height, width * channels) for array in (np.ascontiguousarray(images), out)]
    half = np.float32(0.5 if images.dtype == np.uint8 else 0)
    _sum_of_shifts(
        flat[0], rows, columns, (taps + reach).astype(np.int64), weights.astype(np.float32), channels, half, flat[1]
    )
    return out


@compiled
def _sum_of_shifts(
    images: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    taps: np.ndarray,
    weights: np.ndarray,
    channels: int,
    half: float,
    out: np.ndarray,
) -> None:
    """Four taps at a time: each pass over a row costs more in reading and writing than in adding."""
    count, height, length = out.shape
    wide, start = np.empty((height, len(columns) * channels), np.float32), len(columns) - length // channels
    total, begin = np.empty(length, np.float32), start // 2
    many = len(weights)
    for n in range(count):
        for i in range(height):
            source, line = images[n, i], wide[i]
            inner = line[begin * channels : begin * channels + length]
            for j in range(length):
                inner[j] = np.float32(source[j])
            for k in range(begin):
                for c in range(channels):
                    line[k * channels + c] = inner[columns[k] * channels + c]
                    line[(len(columns) - 1 - k) * channels + c] = inner[columns[len(columns) - 1 - k] * channels + c]
        for i in range(height):
            for j in range(length):
                total[j] = half
            for k in range(0, many - many % 4, 4):
                a, b, c, d = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
                x, y = taps[n, k, 1] * channels, taps[n, k + 1, 1] * channels
                z, w = taps[n, k + 2, 1] * channels, taps[n, k + 3, 1] * channels
                first = wide[rows[i + taps[n, k, 0]], x : x + length]
                second = wide[rows[i + taps[n, k + 1, 0]], y : y + length]
                third = wide[rows[i + taps[n, k + 2, 0]], z : z + length]
                fourth = wide[rows[i + taps[n, k + 3, 0]], w : w + length]
                for j in range(length):
                    total[j] += (a * first[j] + b * second[j]) + (c * third[j] + d * fourth[j])
            for k in range(many - many % 4, many):
                x = taps[n, k, 1] * channels
                weight, source = weights[k], wide[rows[i + taps[n, k, 0]], x : x + length]
                for j in range(length):
                    total[j] += weight * source[j]
            target = out[n, i]
            for j in range(length):
                target[j] = total[j]


def gaussian_taps(sigma: float, truncate: float = 4.0) -> np.ndarray:
    """Weights of a Gaussian at whole pixels, cut off at ``truncate`` standard deviations and normed."""
    reach = int(truncate * sigma + 0.5)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / max(sigma, 1e-6)) ** 2)
    return weights / weights.sum()


def blurred(
    images: np.ndarray, sigma: float, mode: str = "edge", truncate: float = 4.0, *, as_bytes: bool = False
) -> np.ndarray:
    """Gaussian blur of bytes or floats, float32 [n,h,w,c] in their unit range; or bytes, for good."""
    n, height, width, channels = images.shape
    weights = gaussian_taps(sigma, truncate)
    reach = len(weights) // 2
    rows, columns = (np.pad(np.arange(side), reach, mode) for side in (height, width))  # type: ignore[call-overload]
    out = np.empty((n, height, width * channels), np.uint8 if as_bytes else np.float32)
    _blur(
        np.ascontiguousarray(images).reshape(n, height, -1),
        rows,
        columns,
        weights[reach:].astype(np.float32),
        channels,
        np.float32(1 / 255 if images.dtype == np.uint8 else 1),
        np.float32(255 if as_bytes else 1),
        np.float32(0.5 if as_bytes else 0),
        out,
    )
    return out.reshape(images.shape)


@compiled
def _blur(
    images: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    weights: np.ndarray,
    channels: int,
    unit: float,
    gain: float,
    half: float,
    out: np.ndarray,
) -> None:
    """Down into a line, then along it, two pairs of taps at a time; the weights are those from the middle outwards."""
    count, height, length = images.shape
    reach = len(weights) - 1
    start = reach * channels
    source = np.empty((height, length), np.float32)
    line = np.empty(length + 2 * start, np.float32)
    total = np.empty(length, np.float32)
    inner = line[start : start + length]
    for n in range(count):
        for i in range(height):
            for j in range(length):
                source[i, j] = np.float32(images[n, i, j]) * unit
        for i in range(height):
            middle, weight = source[i], weights[0]
            for j in range(length):
                inner[j] = weight * middle[j]
            for k in range(1, reach, 2):
                a, b = weights[k], weights[k + 1]
                up, down = source[rows[i + reach - k]], source[rows[i + reach + k]]
                above, below = source[rows[i + reach - k - 1]], source[rows[i + reach + k + 1]]
                for j in range(length):
                    inner[j] += a * (up[j] + down[j]) + b * (above[j] + below[j])
            if reach % 2:
                a, up, down = weights[reach], source[rows[i]], source[rows[i + 2 * reach]]
                for j in range(length):
                    inner[j] += a * (up[j] + down[j])
            for k in range(reach):
                left, right = columns[k] * channels, columns[k + reach + length // channels] * channels
                for c in range(channels):
                    line[k * channels + c] = inner[left + c]
                    line[start + length + k * channels + c] = inner[right + c]
            weight = weights[0]
            for j in range(length):
                total[j] = weight * inner[j]
            for k in range(1, reach, 2):
                a, b, near, far = weights[k], weights[k + 1], k * channels, (k + 1) * channels
                one, two = line[start - near : start - near + length], line[start + near : start + near + length]
                three, four = line[start - far : start - far + length], line[start + far : start + far + length]
                for j in range(length):
                    total[j] += a * (one[j] + two[j]) + b * (three[j] + four[j])
            if reach % 2:
                a, one, two = weights[reach], line[:length], line[2 * start : 2 * start + length]
                for j in range(length):
                    total[j] += a * (one[j] + two[j])
            for j in range(length):
                out[n, i, j] = total[j] * gain + half


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


def bilinear(images: np.ndarray, down: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Bytes read at places (down, right) [n,h,w], linear between pixels; outside the image goes on as in a mirror."""
    out = np.empty_like(images)
    _read(images, np.ascontiguousarray(down, np.float32), np.ascontiguousarray(right, np.float32), out)
    return out


@compiled
def _read(images: np.ndarray, down: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
    count, height, width, channels = images.shape
    one, half = np.float32(1), np.float32(0.5)
    for n in range(count):
        for i in range(height):
            for j in range(width):
                y, x = down[n, i, j], right[n, i, j]
                top, left = int(np.floor(y)), int(np.floor(x))
                dy, dx = y - np.float32(top), x - np.float32(left)
                bottom, end = top + 1, left + 1
                if top < 0 or left < 0 or bottom >= height or end >= width:
                    top, left = top % (2 * height), left % (2 * width)
                    bottom, end = bottom % (2 * height), end % (2 * width)
                    top, left = min(top, 2 * height - 1 - top), min(left, 2 * width - 1 - left)
                    bottom, end = min(bottom, 2 * height - 1 - bottom), min(end, 2 * width - 1 - end)
                nw, ne, sw, se = (one - dy) * (one - dx), (one - dy) * dx, dy * (one - dx), dy * dx
                upper, lower = images[n, top], images[n, bottom]
                for c in range(channels):
                    above = nw * np.float32(upper[left, c]) + ne * np.float32(upper[end, c])
                    below = sw * np.float32(lower[left, c]) + se * np.float32(lower[end, c])
                    out[n, i, j, c] = np.uint8(above + below + half)

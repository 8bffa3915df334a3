"""Digital: contrast, elastic warping, pixelation, JPEG and saturation."""

import numpy as np

from unbraid.compiled import compiled
from unbraid.corruptions._draws import Draws, uniforms
from unbraid.corruptions._filters import bilinear, scaled
from unbraid.corruptions._jpeg import round_trip
from unbraid.corruptions._registry import register
from unbraid.corruptions._smooth import smooth_fields

__all__ = ["contrast", "elastic_transform", "jpeg_compression", "pixelate", "saturate"]


@register("contrast", "digital", (0.4, 0.3, 0.2, 0.1, 0.05), suite="imagenet-c")
def contrast(images: np.ndarray, _draws: Draws, factor: float) -> np.ndarray:
    """Every number drawn towards the mean of its channel."""
    out = np.empty_like(images)
    _flatten(images.reshape(len(images), -1), images.shape[3], factor, out.reshape(len(images), -1))
    return out


@compiled
def _flatten(images: np.ndarray, channels: int, factor: float, out: np.ndarray) -> None:
    """A mean per channel, and every number drawn to it."""
    share = np.float32(factor)
    pixels = images.shape[1] // channels
    add = np.empty(channels, np.float32)
    for n in range(images.shape[0]):
        source, target = images[n], out[n]
        for c in range(channels):
            part, total = source[c:], 0
            for i in range(pixels):
                total += part[i * channels]
            add[c] = total / pixels * (1 - factor) + 0.5
        if channels == 1:
            for i in range(pixels):
                target[i] = np.uint8(np.float32(source[i]) * share + add[0])
        else:
            red, green, blue = add[0], add[1], add[2]
            for i in range(pixels):
                target[3 * i] = np.uint8(np.float32(source[3 * i]) * share + red)
                target[3 * i + 1] = np.uint8(np.float32(source[3 * i + 1]) * share + green)
                target[3 * i + 2] = np.uint8(np.float32(source[3 * i + 2]) * share + blue)


_UNIT = 244 / 224
"""The published settings are in units of 244 pixels for images of 224."""


@register(
    "elastic_transform",
    "digital",
    ((2.0, 0.7, 0.1), (2.0, 0.08, 0.2), (0.05, 0.01, 0.02), (0.07, 0.01, 0.02), (0.12, 0.01, 0.02)),
    suite="imagenet-c",
)
def elastic_transform(
    images: np.ndarray, draws: Draws, amplitude: float, smoothness: float, jitter: float
) -> np.ndarray:
    """Three corners moved at random, then every point by a smooth random field."""
    _, height, width, _ = images.shape
    side = min(height, width) * _UNIT
    corners = jitter * side * (2 * uniforms(draws, 3, 2) - 1)
    moves = amplitude * side * smooth_fields(draws, height, width, smoothness * side)  # [n, 2, h, w]
    down = np.arange(height, dtype=np.float32)[:, None] + moves[:, 0]
    right = np.arange(width, dtype=np.float32) + moves[:, 1]
    back = _affine(corners, height, width)[:, :, :, None, None]
    return bilinear(
        images,
        back[:, 0, 0] * down + back[:, 0, 1] * right + back[:, 0, 2],
        back[:, 1, 0] * down + back[:, 1, 1] * right + back[:, 1, 2],
    )


def _affine(moves: np.ndarray, height: int, width: int) -> np.ndarray:
    """For each image the affine map [2,3] from places after three corners were moved to places before."""
    reach = min(height, width) // 3
    centre = np.array([height // 2, width // 2])
    before = centre + reach * np.array([[1, 1], [-1, 1], [-1, -1]])
    after = np.concatenate([before + moves, np.ones((len(moves), 3, 1))], axis=2)  # [n, 3, 3]
    found = np.linalg.solve(after, np.broadcast_to(before, (len(moves), 3, 2)).astype(float))
    return np.swapaxes(found, 1, 2).astype(np.float32)


@register("pixelate", "digital", (0.6, 0.5, 0.4, 0.3, 0.25), suite="imagenet-c")
def pixelate(images: np.ndarray, _draws: Draws, share: float) -> np.ndarray:
    """Blocks of pixels replaced by their mean."""
    block = 1 + scaled(1 / share - 1, images)
    n, height, width, channels = images.shape
    out = np.empty_like(images)
    flat = (array.reshape(n, height, width * channels) for array in (images, out))
    _average(next(flat), *_boxes(height, block), *_boxes(width, block), channels, next(flat))
    return out


def _boxes(side: int, block: float) -> tuple[np.ndarray, np.ndarray]:
    """Equal boxes along a side: the first pixel whose centre lies in each (and the end), the box of each pixel.

    As Pillow's: the mean is that of pixels (edge, edge] of a box, and what is shown at a pixel that of [edge, edge).
    """
    count = max(1, int(side / block + 1e-9))
    first = np.floor(np.linspace(0, side, count + 1) - 0.5).astype(np.int64) + 1
    return first, ((np.arange(side) + 0.5) * count / side).astype(np.int64)


@compiled
def _average(
    images: np.ndarray,
    rows: np.ndarray,
    row_of: np.ndarray,
    columns: np.ndarray,
    column_of: np.ndarray,
    channels: int,
    out: np.ndarray,
) -> None:
    """Boxes of a row at a time: rows added up, then their columns, and the row copied as often as it is shown."""
    count, height, length = images.shape
    boxes = len(columns) - 1
    sums, means = np.empty(length, np.int32), np.empty(boxes * channels, np.uint8)
    for n in range(count):
        done = -1
        for i in range(height):
            box, target = row_of[i], out[n, i]
            if box == done:
                before = out[n, i - 1]
                for j in range(length):
                    target[j] = before[j]
                continue
            first, last = images[n, rows[box]], rows[box + 1]
            for j in range(length):
                sums[j] = first[j]
            for y in range(rows[box] + 1, last):
                more = images[n, y]
                for j in range(length):
                    sums[j] += more[j]
            tall = last - rows[box]
            for k in range(boxes):
                begin, end = columns[k], columns[k + 1]
                share = np.float32(1) / np.float32(tall * (end - begin))
                for c in range(channels):
                    total = np.int32(0)
                    for x in range(begin * channels + c, end * channels + c, channels):
                        total += sums[x]
                    means[k * channels + c] = np.uint8(np.float32(total) * share + np.float32(0.5))
            if channels == 3:
                for j in range(len(column_of)):
                    k = 3 * column_of[j]
                    target[3 * j], target[3 * j + 1], target[3 * j + 2] = means[k], means[k + 1], means[k + 2]
            else:
                for j in range(len(column_of)):
                    target[j] = means[column_of[j]]
            done = box


@register("jpeg_compression", "digital", (25, 18, 15, 10, 7), suite="imagenet-c")
def jpeg_compression(images: np.ndarray, _draws: Draws, quality: int) -> np.ndarray:
    """Saved as a JPEG file of low quality and read again."""
    return round_trip(images, quality)


@register(
    "saturate", "digital", ((0.3, 0.0), (0.1, 0.0), (2.0, 0.0), (5.0, 0.1), (20.0, 0.2)), suite="imagenet-c-holdout"
)
def saturate(images: np.ndarray, _draws: Draws, factor: float, more: float) -> np.ndarray:
    """The saturation of every colour made less or more; grey stays as it is."""
    if images.shape[3] == 1:
        return images
    out = np.empty_like(images)
    _saturate(images.reshape(-1), np.float32(factor), np.float32(more), out.reshape(-1))
    return out


@compiled
def _saturate(pixels: np.ndarray, factor: float, more: float, out: np.ndarray) -> None:
    """Distances from the value are stretched in proportion to the saturation, which keeps the hue."""
    zero, one, half = np.float32(0), np.float32(1), np.float32(0.5)
    for i in range(len(pixels) // 3):
        red, green, blue = np.float32(pixels[3 * i]), np.float32(pixels[3 * i + 1]), np.float32(pixels[3 * i + 2])
        value, least = max(max(red, green), blue), min(min(red, green), blue)
        chroma = value - least
        after = min(max(chroma / max(value, one) * factor + more, zero), one)
        stretch = value * after / max(chroma, one)
        grey = stretch if chroma == zero else zero  # no hue counts as red
        out[3 * i] = np.uint8(value - (value - red) * stretch + half)
        out[3 * i + 1] = np.uint8(value - (value - green) * stretch - grey + half)
        out[3 * i + 2] = np.uint8(value - (value - blue) * stretch - grey + half)

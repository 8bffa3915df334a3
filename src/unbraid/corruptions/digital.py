"""Digital: contrast, elastic warping, pixelation, JPEG and saturation."""

from io import BytesIO

import numpy as np
from PIL import Image

from unbraid.compiled import compiled
from unbraid.corruptions._draws import Draws
from unbraid.corruptions._filters import bilinear, scaled, unit
from unbraid.corruptions._registry import register
from unbraid.corruptions._smooth import smooth_fields

__all__ = ["contrast", "elastic_transform", "jpeg_compression", "pixelate", "saturate"]


@register("contrast", "digital", (0.4, 0.3, 0.2, 0.1, 0.05), suite="imagenet-c")
def contrast(images: np.ndarray, _draws: Draws, factor: float) -> np.ndarray:
    """Every number drawn towards the mean of its channel."""
    out = np.empty_like(images)
    _flatten(images, factor, out)
    return out


@compiled
def _flatten(images: np.ndarray, factor: float, out: np.ndarray) -> None:
    count, height, width, channels = images.shape
    shades = np.empty((channels, 256), np.uint8)
    for n in range(count):
        for c in range(channels):
            total = 0
            for i in range(height):
                for j in range(width):
                    total += images[n, i, j, c]
            mean = total / (height * width)
            for shade in range(256):
                shades[c, shade] = np.uint8((shade - mean) * factor + mean + 0.5)
        for i in range(height):
            for j in range(width):
                for c in range(channels):
                    out[n, i, j, c] = shades[c, images[n, i, j, c]]


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
    corners = np.stack([rng.uniform(-jitter * side, jitter * side, (3, 2)) for rng in draws])
    moves = amplitude * side * smooth_fields(draws, height, width, smoothness * side)  # [n, 2, h, w]
    down = np.arange(height, dtype=np.float32)[:, None] + moves[:, 0]
    right = np.arange(width, dtype=np.float32) + moves[:, 1]
    back = _affine(corners, height, width)[:, :, :, None, None]
    return bilinear(
        unit(images),
        back[:, 0, 0] * down + back[:, 0, 1] * right + back[:, 0, 2],
        back[:, 1, 0] * down + back[:, 1, 1] * right + back[:, 1, 2],
        "mirrored",
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
    out = np.empty_like(images)
    _average(images, *_boxes(images.shape[1], block), *_boxes(images.shape[2], block), out)
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
    out: np.ndarray,
) -> None:
    count, height, width, channels = images.shape
    means = np.empty((len(columns) - 1, channels), np.uint8)
    for n in range(count):
        done = -1
        for i in range(height):
            box = row_of[i]
            if box != done:
                for k in range(len(columns) - 1):
                    size = (rows[box + 1] - rows[box]) * (columns[k + 1] - columns[k])
                    for c in range(channels):
                        total = 0
                        for y in range(rows[box], rows[box + 1]):
                            for x in range(columns[k], columns[k + 1]):
                                total += images[n, y, x, c]
                        means[k, c] = np.uint8(total / size + 0.5)
                done = box
            for j in range(width):
                for c in range(channels):
                    out[n, i, j, c] = means[column_of[j], c]


@register("jpeg_compression", "digital", (25, 18, 15, 10, 7), suite="imagenet-c")
def jpeg_compression(images: np.ndarray, _draws: Draws, quality: int) -> np.ndarray:
    """Saved as a JPEG file of low quality and read again."""
    out = np.empty_like(images)
    for image, target in zip(images, out, strict=True):
        file = BytesIO()
        Image.fromarray(image if image.shape[2] == 3 else image[:, :, 0]).save(file, "JPEG", quality=quality)
        target[:] = np.asarray(Image.open(file)).reshape(target.shape)
    return out


@register(
    "saturate", "digital", ((0.3, 0.0), (0.1, 0.0), (2.0, 0.0), (5.0, 0.1), (20.0, 0.2)), suite="imagenet-c-holdout"
)
def saturate(images: np.ndarray, _draws: Draws, factor: float, more: float) -> np.ndarray:
    """The saturation of every colour made less or more; grey stays as it is."""
    if images.shape[3] == 1:
        return images
    out = np.empty_like(images)
    _saturate(images.reshape(-1, 3), np.float32(factor), np.float32(more), out.reshape(-1, 3))
    return out


@compiled
def _saturate(pixels: np.ndarray, factor: float, more: float, out: np.ndarray) -> None:
    """Distances from the value are stretched in proportion to the saturation, which keeps the hue."""
    for i in range(len(pixels)):
        value, least = np.float32(pixels[i].max()), np.float32(pixels[i].min())
        chroma = value - least
        after = min(max(chroma / max(value, np.float32(1)) * factor + more, np.float32(0)), np.float32(1))
        for c in range(3):
            depth = (value - pixels[i, c]) / chroma if chroma > 0 else np.float32(c > 0)  # no hue counts as red
            out[i, c] = np.uint8(value * (1 - after * depth) + np.float32(0.5))

"""Digital: contrast, elastic warping, pixelation, JPEG and saturation."""

from io import BytesIO

import numpy as np
from PIL import Image

from unbraid.corruptions._draws import Draws
from unbraid.corruptions._filters import bilinear, scaled, unit
from unbraid.corruptions._registry import register
from unbraid.corruptions._smooth import smooth_fields

__all__ = ["contrast", "elastic_transform", "jpeg_compression", "pixelate", "saturate"]


@register("contrast", "digital", (0.4, 0.3, 0.2, 0.1, 0.05), suite="imagenet-c")
def contrast(images: np.ndarray, _draws: Draws, factor: float) -> np.ndarray:
    """Every number drawn towards the mean of its channel."""
    mean = images.mean(axis=(1, 2), keepdims=True, dtype=np.float64).astype(np.float32) / 255
    return unit(images) * np.float32(factor) + mean * np.float32(1 - factor)


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
    n, height, width, channels = images.shape
    down, right = _boxes(height, block), _boxes(width, block)
    means = down @ unit(images).reshape(n, height, -1)
    means = right @ means.reshape(n, len(down), width, channels)
    rows, columns = (_nearest(len(boxes), side) for boxes, side in ((down, height), (right, width)))
    return means[:, rows][:, :, columns]


def _boxes(side: int, block: float) -> np.ndarray:
    """Shares [boxes, side] of each pixel in the mean of each of equal boxes: those whose centres lie within count."""
    count = max(1, int(side / block + 1e-9))
    edges = np.linspace(0, side, count + 1)
    centres = np.arange(side) + 0.5
    within = (centres > edges[:-1, None]) & (centres <= edges[1:, None])
    return (within / within.sum(axis=1, keepdims=True)).astype(np.float32)


def _nearest(count: int, side: int) -> np.ndarray:
    """The box in which the centre of each pixel lies."""
    return ((np.arange(side) + 0.5) * count / side).astype(np.int64)


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
    x = unit(images)
    value = x.max(axis=3, keepdims=True)
    chroma = value - x.min(axis=3, keepdims=True)
    before = chroma / np.maximum(value, np.float32(1e-6))
    after = np.clip(before * np.float32(factor) + np.float32(more), 0, 1)
    # Hue is kept: distances from the value are stretched in proportion to the saturation.
    depth = (value - x) / np.maximum(chroma, np.float32(1e-6))
    red = np.zeros_like(depth)
    red[..., 1:] = 1  # what has no hue counts as red
    return value * (1 - after * np.where(chroma > 0, depth, red))

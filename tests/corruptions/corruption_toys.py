"""Images to spoil: smooth gradients, a bright disk and texture, never constant."""

import numpy as np


def pictures(n: int = 3, size: int = 32, channels: int = 3, seed: int = 0) -> np.ndarray:
    """A few different images, uint8 [n, size, size, channels]."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:size, :size] / size
    found = np.empty((n, size, size, channels), np.uint8)
    for i in range(n):
        for c in range(channels):
            waves = 0.5 + 0.3 * np.sin(2 * np.pi * (x * (1 + c) + y * (i + 1) / 2))
            disk = 0.4 * ((x - 0.3 - 0.1 * i) ** 2 + (y - 0.5) ** 2 < 0.05)
            found[i, :, :, c] = np.clip((waves + disk + rng.normal(0, 0.03, (size, size))) * 255, 0, 255)
    return found


def unit(images: np.ndarray) -> np.ndarray:
    """Floats in [0,1]."""
    return images.astype(np.float64) / 255


def as_bytes(images: np.ndarray) -> np.ndarray:
    """What floats become in the end."""
    return (np.clip(images, 0, 1) * 255 + 0.5).astype(np.uint8)


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Mean Euclidean distance of images in [0,1]."""
    return float(np.sqrt(((unit(a) - unit(b)) ** 2).sum((1, 2, 3))).mean())

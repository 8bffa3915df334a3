"""How large a change of an image is a fair one: as large as random noise that a plain model still bears."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from unbraid.data import Purpose, counter_rng
from unbraid.errors import UsageError, unknown_name

__all__ = ["ACCURACY", "noise_bound", "noisy"]

ACCURACY = 0.9
"""What a vanilla model keeps under random noise of the size of the bound."""
NORMS = ("l0", "l2", "linf")
HALVINGS = 20


def noisy(images: np.ndarray, norm: str, size: float, seed: int = 0) -> np.ndarray:
    """uint8 images with random noise of this size: so many pixels black or white (l0), along a normal direction (l2),
    or up or down by the same amount in every pixel (linf). What is drawn does not depend on the size.
    """
    rng = counter_rng(seed, 0, Purpose.DIRECTION)
    x = images.astype(np.float32) / 255
    count, height, width, _ = x.shape
    if norm == "l0":
        order = rng.random((count, height * width), dtype=np.float32).argsort(axis=1).argsort(axis=1)
        values = rng.integers(0, 2, (count, height, width, 1)).astype(np.float32)
        moved = np.where((order < round(size)).reshape(count, height, width, 1), values, x)
    else:
        step = rng.standard_normal(x.shape, dtype=np.float32)
        if norm == "l2":
            step /= np.linalg.norm(step.reshape(count, -1), axis=1).reshape(-1, 1, 1, 1)
        else:
            step = np.sign(step)
        moved = x + size * step
    return np.rint(moved.clip(0, 1) * 255).astype(np.uint8)


def noise_bound(
    predict: Callable[[np.ndarray], np.ndarray],
    images: np.ndarray,
    labels: np.ndarray,
    norm: str,
    *,
    accuracy: float = ACCURACY,
    seed: int = 0,
) -> float:
    """The size of random noise at which a model's accuracy falls to ``accuracy``, by halving.

    Not a number if it is lower without any noise; the largest size that there is if it never falls so far.
    """
    if not 0 < accuracy < 1:
        raise UsageError(f"accuracy must lie between 0 and 1, got {accuracy}")
    if norm not in NORMS:
        raise unknown_name("norm", norm, NORMS)

    def right(size: float) -> float:
        return float((predict(noisy(images, norm, size, seed)).argmax(axis=1) == labels).mean())

    pixels = math.prod(images.shape[1:])
    low, high = 0.0, {"l0": float(math.prod(images.shape[1:3])), "l2": math.sqrt(pixels), "linf": 1.0}[norm]
    if right(low) < accuracy:
        return math.nan
    if right(high) >= accuracy:
        return high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if right(middle) >= accuracy else (low, middle)
        if norm == "l0" and high - low < 1:
            break
    return float(math.floor(low)) if norm == "l0" else low

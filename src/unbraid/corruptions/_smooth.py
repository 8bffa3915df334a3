"""Smooth random fields, by which images are warped."""

import numpy as np

from unbraid.corruptions._draws import Draws, uniforms
from unbraid.corruptions._filters import blurred

__all__ = ["smooth_fields"]

_WIDE = 4.0
"""Above this many pixels a Gaussian is cheaper as a few cosines than as many taps."""


def smooth_fields(draws: Draws, height: int, width: int, sigma: float) -> np.ndarray:
    """Two fields of uniform numbers in ±1 for each image, blurred by a Gaussian, float32 [n,2,height,width].

    Fields go on as in a mirror beyond the edge.
    """
    fields = 2 * uniforms(draws, 2, height, width) - 1
    if sigma <= _WIDE:
        return np.moveaxis(blurred(np.moveaxis(fields, 1, 3), sigma, "symmetric"), 3, 1)
    down, right = _cosines(height, sigma), _cosines(width, sigma)
    return down.T @ (down @ fields @ right.T) @ right


def _cosines(size: int, sigma: float) -> np.ndarray:
    """The cosines that a Gaussian lets through, [k,size], each times the root of its share: blurring is ``c.T @ c``.

    Mirrored fields are sums of cosines, and a Gaussian multiplies each by exp(-(sigma * frequency)**2 / 2).
    """
    frequency = np.pi * np.arange(size) / size
    share = np.exp(-0.5 * (sigma * frequency) ** 2)
    kept = share > 1e-7
    waves = np.cos(np.outer(frequency[kept], np.arange(size) + 0.5)) * np.sqrt(2 / size)
    waves[0] /= np.sqrt(2)
    return (np.sqrt(share[kept])[:, None] * waves).astype(np.float32)

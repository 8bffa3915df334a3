"""Clouds and ice: fractal textures, made anew for every image."""

import numpy as np

from unbraid.compiled import compiled
from unbraid.corruptions._draws import Draws, uniforms

__all__ = ["frosty", "plasma"]


def plasma(draws: Draws, size: int, decay: float) -> np.ndarray:
    """Diamond-square fractals that wrap around, float32 [n,size,size], each stretched to [0,1].

    Every level halves the grid and fills it with means of four neighbours plus a number from ± wobble², where wobble
    begins at 100 and is divided by ``decay`` from level to level.
    """
    out = uniforms(draws, size, size)
    _diamond_square(out, float(decay))
    return out


@compiled
def _diamond_square(maps: np.ndarray, decay: float) -> None:
    """In place: each cell holds its own uniform number until it is filled."""
    size = maps.shape[1]
    last = size - 1  # size is a power of two: places wrap around by their lower bits
    for n in range(maps.shape[0]):
        cloud = maps[n]
        cloud[0, 0] = 0
        step, wobble = size, np.float32(100)
        while step >= 2:
            half, swing = step // 2, wobble * wobble
            for i in range(half, size, step):
                below = (i + half) & last
                for j in range(half, size, step):
                    beside = (j + half) & last
                    mean = cloud[i - half, j - half] + cloud[below, j - half]
                    mean += cloud[i - half, beside] + cloud[below, beside]
                    cloud[i, j] = mean / 4 + swing * (2 * cloud[i, j] - 1)
            for i in range(0, size, half):
                above, below = (i - half) & last, (i + half) & last
                for j in range(half if i % step == 0 else 0, size, step):
                    mean = cloud[above, j] + cloud[below, j]
                    mean += cloud[i, (j - half) & last] + cloud[i, (j + half) & last]
                    cloud[i, j] = mean / 4 + swing * (2 * cloud[i, j] - 1)
            step, wobble = half, wobble / np.float32(decay)
        low, high = cloud[0, 0], cloud[0, 0]
        for i in range(size):
            for j in range(size):
                low, high = min(low, cloud[i, j]), max(high, cloud[i, j])
        for i in range(size):
            for j in range(size):
                cloud[i, j] = (cloud[i, j] - low) / (high - low)


def frosty(draws: Draws, height: int, width: int) -> np.ndarray:
    """Ice on a window, float32 [n,height,width] in [0,1]: bright ridges where a fractal crosses its middle heights.

    A coarse fractal says where ice has grown; within it thin ridges of two finer ones branch like needles.
    """
    size = 1 << (max(height, width, 32) - 1).bit_length()
    thick = plasma(draws, size, 2.0)[:, :height, :width]
    needles = np.zeros_like(thick)
    for weight, decay, ridges in ((0.6, 1.6, 4.0), (0.4, 1.35, 3.0)):
        heights = plasma(draws, size, decay)[:, :height, :width]
        ridge = np.abs((heights * ridges) % 1 * 2 - 1)  # 1 on the ridges, 0 half-way between them
        needles += np.float32(weight) * ridge**3
    grown = np.clip((thick - 0.25) * 2, 0, 1)
    return np.clip(0.25 + grown * (0.3 + needles), 0, 1).astype(np.float32)

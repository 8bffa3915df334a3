"""Canny's edge detector, for many images at once."""

import numpy as np

from unbraid.compiled import compiled
from unbraid.corruptions._filters import blurred

__all__ = ["edges"]


def edges(images: np.ndarray, sigma: float, low: float, high: float) -> np.ndarray:
    """Where edges run, bool [n,h,w]: crests of the slope of the blurred image.

    A crest below ``low`` is none; one below ``high`` counts if it touches, directly or through others, one above.
    """
    _, height, width = images.shape
    margin = int(4 * sigma + 0.5)
    both = np.concatenate([images, np.ones((1, height, width), np.float32)])
    padded = np.pad(both, ((0, 0), (margin, margin), (margin, margin)))[..., None]
    inner = slice(margin, -margin)
    smooth = blurred(padded, sigma)[:, inner, inner, 0]
    smooth = np.ascontiguousarray(smooth[:-1] / smooth[-1])  # what lies outside has no say
    found = np.zeros(images.shape, np.uint8)
    _crests(smooth, np.float32(low), np.float32(high), found)
    _grow(found)
    return found == 2


@compiled
def _crests(smooth: np.ndarray, low: float, high: float, out: np.ndarray) -> None:
    """1 for slopes not below those one step up and one step down the gradient, linear between pixels; 2 above high.

    The slope is Sobel's, with the outermost pixels repeated beyond the edge.
    """
    count, height, width = smooth.shape
    down, right = np.empty((height, width), np.float32), np.empty((height, width), np.float32)
    slope, two = np.empty((height, width), np.float32), np.float32(2)
    tall, wide = np.empty(width + 2, np.float32), np.empty(width + 2, np.float32)
    for n in range(count):
        for i in range(height):
            above, here, below = smooth[n, max(i - 1, 0)], smooth[n, i], smooth[n, min(i + 1, height - 1)]
            for j in range(width):
                tall[j + 1] = below[j] - above[j]
                wide[j + 1] = above[j] + two * here[j] + below[j]
            tall[0], tall[width + 1], wide[0], wide[width + 1] = tall[1], tall[width], wide[1], wide[width]
            steep, flat, size = down[i], right[i], slope[i]
            left, middle, end, begin, far = tall[:width], tall[1:], tall[2:], wide[:width], wide[2:]
            for j in range(width):
                dy, dx = left[j] + two * middle[j] + end[j], far[j] - begin[j]
                steep[j], flat[j], size[j] = dy, dx, np.sqrt(dy * dy + dx * dx)
        for i in range(1, height - 1):
            for j in range(1, width - 1):
                here = slope[i, j]
                if here < low:
                    continue
                dy, dx = down[i, j], right[i, j]
                y, x = (1 if dy >= 0 else -1), (1 if dx >= 0 else -1)
                if abs(dy) > abs(dx):
                    share, side_y, side_x = abs(dx) / abs(dy), y, 0
                else:
                    share, side_y, side_x = abs(dy) / abs(dx), 0, x
                ahead = slope[i + side_y, j + side_x] * (1 - share) + slope[i + y, j + x] * share
                behind = slope[i - side_y, j - side_x] * (1 - share) + slope[i - y, j - x] * share
                if ahead <= here and behind <= here:
                    out[n, i, j] = 2 if here >= high else 1


@compiled
def _grow(found: np.ndarray) -> None:
    """Every 1 that touches a 2, directly or through others, becomes a 2. Nothing lies on the outermost pixels."""
    count, height, width = found.shape
    waiting = np.empty((height * width, 2), np.int64)
    for n in range(count):
        crest, held = found[n], 0
        for i in range(height):
            for j in range(width):
                if crest[i, j] == 2:
                    waiting[held, 0], waiting[held, 1] = i, j
                    held += 1
        while held:
            held -= 1
            i, j = waiting[held, 0], waiting[held, 1]
            for y in range(i - 1, i + 2):
                for x in range(j - 1, j + 2):
                    if crest[y, x] == 1:
                        crest[y, x] = 2
                        waiting[held, 0], waiting[held, 1] = y, x
                        held += 1

"""Canny's edge detector, for many images at once."""

import numpy as np
from scipy import ndimage

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
    smooth = smooth[:-1] / smooth[-1]  # what lies outside has no say
    down, right = (
        ndimage.correlate1d(ndimage.correlate1d(smooth, [-1, 0, 1], axis), [1, 2, 1], 3 - axis) for axis in (1, 2)
    )
    slope = np.sqrt(down**2 + right**2)
    crests = np.zeros_like(slope)
    _crests(down, right, slope, np.float32(low), crests)
    plane = np.zeros((3, 3, 3), bool)
    plane[1] = True  # neighbours lie in the same image
    groups, count = ndimage.label(crests > 0, plane)
    strong = np.zeros(count + 1, bool)
    strong[groups[crests >= high]] = True
    strong[0] = False
    return np.asarray(strong[groups])


@compiled
def _crests(down: np.ndarray, right: np.ndarray, slope: np.ndarray, low: float, out: np.ndarray) -> None:
    """Keep slopes not below those one step up and one step down the gradient, linear between the nearest pixels."""
    for n in range(slope.shape[0]):
        for i in range(1, slope.shape[1] - 1):
            for j in range(1, slope.shape[2] - 1):
                here, dy, dx = slope[n, i, j], down[n, i, j], right[n, i, j]
                if here < low:
                    continue
                y, x = (1 if dy >= 0 else -1), (1 if dx >= 0 else -1)
                if abs(dy) > abs(dx):
                    share, side_y, side_x = abs(dx) / abs(dy), y, 0
                else:
                    share, side_y, side_x = abs(dy) / abs(dx), 0, x
                ahead = slope[n, i + side_y, j + side_x] * (1 - share) + slope[n, i + y, j + x] * share
                behind = slope[n, i - side_y, j - side_x] * (1 - share) + slope[n, i - y, j - x] * share
                if ahead <= here and behind <= here:
                    out[n, i, j] = here

"""Splashes of water and mud."""

import numpy as np

from unbraid.compiled import compiled
from unbraid.corruptions._canny import edges
from unbraid.corruptions._draws import Draws, normals
from unbraid.corruptions._filters import blurred, scaled, unit
from unbraid.corruptions._registry import register

__all__ = ["digits_spatter", "spatter"]

_WATER = np.array([175, 238, 238], np.float32) / 255
_MUD = np.array([63, 42, 20], np.float32) / 255


@register(
    "spatter",
    "weather",
    (
        (0.65, 0.3, 4.0, 0.69, 0.6, "water"),
        (0.65, 0.3, 3.0, 0.68, 0.6, "water"),
        (0.65, 0.3, 2.0, 0.68, 0.5, "water"),
        (0.65, 0.3, 1.0, 0.65, 1.5, "mud"),
        (0.67, 0.4, 1.0, 0.65, 1.5, "mud"),
    ),
    suite="imagenet-c-holdout",
)
def spatter(
    images: np.ndarray,
    draws: Draws,
    mean: float,
    std: float,
    sigma: float,
    threshold: float,
    strength: float,
    kind: str,
) -> np.ndarray:
    """Drops of water on the lens; in the two greatest severities mud."""
    colour = images.shape[3] == 3
    if kind == "mud":
        liquid = _liquid(images, draws, mean, std, sigma)
        mask = _mud(liquid, threshold, strength)
        return unit(images) * (1 - mask) + mask * (_MUD if colour else _MUD[:1])
    # Blurring less lets the layer vary more: a smaller image has smaller drops of the same depth.
    narrow = scaled(sigma, images)
    liquid = mean + (_liquid(images, draws, mean, std, narrow) - mean) * np.float32(narrow / sigma)
    drops = _drops(np.where(liquid < threshold, 0, liquid))
    return unit(images) + np.float32(strength) * drops * (_WATER if colour else _WATER.mean())


@register("spatter", "weather", ((0.65, 0.3, 1.0, 0.65, 1.5),), suite="mnist-c")
def digits_spatter(
    images: np.ndarray, draws: Draws, mean: float, std: float, sigma: float, threshold: float, softness: float
) -> np.ndarray:
    """Grey splashes of mud that hide what lies below."""
    mask = _mud(_liquid(images, draws, mean, std, sigma), threshold, softness)
    return unit(images) * (1 - mask) + mask * _MUD[0]


def _liquid(images: np.ndarray, draws: Draws, mean: float, std: float, sigma: float) -> np.ndarray:
    """A layer of blurred normal numbers, [n,h,w,1]."""
    return blurred(np.float32(mean) + np.float32(std) * normals(draws, *images.shape[1:3], 1), sigma)


def _mud(liquid: np.ndarray, threshold: float, softness: float) -> np.ndarray:
    """How far mud hides the image, [n,h,w,1]: all of it inside of splashes, nothing at a small distance."""
    mask = blurred((liquid > threshold).astype(np.float32), softness)
    mask[mask < 0.8] = 0
    return mask


def _drops(liquid: np.ndarray) -> np.ndarray:
    """How brightly drops shine, [n,h,w,1] up to 1: light falls on one side of each, and on none far from its rim."""
    rims = edges((liquid[..., 0] > 0).astype(np.float32), 0.5, 0.1, 0.2)
    shine = np.empty(liquid.shape[:3], np.float32)
    _shine(liquid[..., 0], rims, shine)
    return shine[..., None]


@compiled
def _shine(liquid: np.ndarray, rims: np.ndarray, out: np.ndarray) -> None:
    """Distances from the rims up to 20, smoothed, lit from the upper left, smoothed again, and the wettest shines 1."""
    count, height, width = out.shape
    zero, ninth, far = np.float32(0), np.float32(1 / 9), np.float32(20)
    down = np.empty((height, width + 40), np.float32)  # squares; beyond the edge there is no rim
    one, two = np.empty((height + 2, width + 2), np.float32), np.empty((height + 2, width + 2), np.float32)
    best, sums = np.empty(width, np.float32), np.empty(width + 2, np.float32)
    for n in range(count):
        any_rim = False
        for i in range(height):
            for j in range(width + 40):
                down[i, j] = 400
        for j in range(width):
            since = 20
            for i in range(height):
                since = 0 if rims[n, i, j] else min(since + 1, 20)
                any_rim = any_rim or since == 0
                down[i, j + 20] = since
            since = 20
            for i in range(height - 1, -1, -1):
                since = 0 if rims[n, i, j] else min(since + 1, 20)
                least = min(down[i, j + 20], np.float32(since))
                down[i, j + 20] = least * least
        for i in range(height):
            for j in range(width):
                best[j] = 400
            for k in range(41):
                apart, part = np.float32((k - 20) * (k - 20)), down[i, k : k + width]
                for j in range(width):
                    best[j] = min(best[j], part[j] + apart)
            inside = one[i + 1, 1:]
            for j in range(width):
                inside[j] = min(np.sqrt(best[j]), far) if any_rim else zero
        for turn in range(3):
            source, target = (one, two) if turn != 1 else (two, one)
            # Beyond the edge images go on as in a mirror that stands on the outermost pixel.
            source[0, 1 : width + 1], source[height + 1, 1 : width + 1] = (
                source[2, 1 : width + 1],
                source[height - 1, 1 : width + 1],
            )
            for i in range(height + 2):
                source[i, 0], source[i, width + 1] = source[i, 2], source[i, width - 1]
            for i in range(height):
                above, here, below, inside = source[i], source[i + 1], source[i + 2], target[i + 1, 1:]
                if turn == 1:
                    left, middle, right = above[1:], here[1:], below[1:]
                    end, last = here[2:], below[2:]
                    for j in range(width):
                        lit = np.float32(2) * (last[j] - above[j]) + (right[j] - left[j]) + (end[j] - here[j])
                        inside[j] = lit + middle[j]
                else:
                    for j in range(width + 2):
                        sums[j] = (above[j] + here[j] + below[j]) * ninth
                    middle, right = sums[1:], sums[2:]
                    for j in range(width):
                        inside[j] = sums[j] + middle[j] + right[j]
        most = np.float32(1e-6)
        for i in range(height):
            light, wet, target = two[i + 1, 1:], liquid[n, i], out[n, i]
            for j in range(width):
                target[j] = wet[j] * max(light[j], zero)
                most = max(most, target[j])
        for i in range(height):
            for j in range(width):
                out[n, i, j] /= most

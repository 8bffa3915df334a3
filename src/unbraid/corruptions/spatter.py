"""Splashes of water and mud."""

import numpy as np

from unbraid.corruptions._draws import Draws, normals
from unbraid.corruptions._filters import blurred, unit
from unbraid.corruptions._registry import register

__all__ = ["digits_spatter"]


@register("spatter", "weather", ((0.65, 0.3, 1.0, 0.65, 1.5),), suite="mnist-c")
def digits_spatter(
    images: np.ndarray, draws: Draws, mean: float, std: float, sigma: float, threshold: float, softness: float
) -> np.ndarray:
    """Grey splashes of mud that hide what lies below."""
    mask = _mud(_liquid(images, draws, mean, std, sigma), threshold, softness)
    return unit(images) * (1 - mask) + mask * np.float32(63 / 255)


def _liquid(images: np.ndarray, draws: Draws, mean: float, std: float, sigma: float) -> np.ndarray:
    """A layer of blurred normal numbers, [n,h,w,1]."""
    return blurred(np.float32(mean) + np.float32(std) * normals(draws, *images.shape[1:3], 1), sigma)


def _mud(liquid: np.ndarray, threshold: float, softness: float) -> np.ndarray:
    """How far mud hides the image, [n,h,w,1]: all of it inside of splashes, nothing at a small distance."""
    mask = blurred((liquid > threshold).astype(np.float32), softness)
    mask[mask < 0.8] = 0
    return mask

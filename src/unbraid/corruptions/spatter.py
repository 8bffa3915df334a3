"""Splashes of water and mud."""

import numpy as np
from scipy import ndimage

from unbraid.corruptions._canny import edges
from unbraid.corruptions._draws import Draws, normals
from unbraid.corruptions._filters import blurred, filtered, scaled, unit
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
    wet = liquid > 0
    rims = edges(wet[..., 0].astype(np.float32), 0.5, 0.1, 0.2)
    far = np.stack([ndimage.distance_transform_edt(~rim) if rim.any() else np.zeros(rim.shape) for rim in rims])
    far = np.minimum(far, 20).astype(np.float32)[..., None]
    square = np.indices((3, 3)).reshape(2, 9).T - 1
    relief = np.array([-2.0, -1, 0, -1, 1, 1, 0, 1, 2])
    smooth = filtered(far, square, np.full(9, 1 / 9), "reflect")
    light = filtered(filtered(smooth, square, relief, "reflect"), square, np.full(9, 1 / 9), "reflect")
    shine = liquid * np.clip(light, 0, None)
    most = shine.max(axis=(1, 2, 3), keepdims=True)
    return shine / np.maximum(most, np.float32(1e-6))

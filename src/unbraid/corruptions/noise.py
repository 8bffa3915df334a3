"""Noise: Gaussian, shot, impulse and speckle."""

import numpy as np
from scipy.stats import poisson

from unbraid.compiled import compiled
from unbraid.corruptions._draws import Draws, normals, uniforms
from unbraid.corruptions._registry import register

__all__ = ["gaussian_noise", "impulse_noise", "shot_noise", "speckle_noise"]


@register("gaussian_noise", "noise", (0.08, 0.12, 0.18, 0.26, 0.38), suite="imagenet-c")
def gaussian_noise(images: np.ndarray, draws: Draws, sigma: float) -> np.ndarray:
    """Normal noise added to every number."""
    noise = normals(draws, *images.shape[1:])
    noise *= np.float32(sigma)
    noise += images * np.float32(1 / 255)
    return noise


@register("speckle_noise", "noise", (0.15, 0.2, 0.35, 0.45, 0.6), suite="imagenet-c-holdout")
def speckle_noise(images: np.ndarray, draws: Draws, sigma: float) -> np.ndarray:
    """Normal noise in proportion to each number: black stays black."""
    noise = normals(draws, *images.shape[1:])
    noise *= np.float32(sigma)
    noise += 1
    noise *= images * np.float32(1 / 255)
    return noise


@register("shot_noise", "noise", (3,), suite="mnist-c")
@register("shot_noise", "noise", (60, 25, 12, 5, 3), suite="imagenet-c")
def shot_noise(images: np.ndarray, draws: Draws, photons: float) -> np.ndarray:
    """Each number as a count of few photons: Poisson noise."""
    shades = np.arange(256) / 255 * photons
    most = int(poisson.ppf(1 - 1e-9, photons)) + 1
    share = poisson.cdf(np.arange(most)[None, :], shades[:, None]).astype(np.float32)  # [256, counts]
    first = np.maximum(poisson.ppf(1e-3, shades), 0).astype(np.int64)
    values = np.minimum(np.arange(most + 1) / photons * 255 + 0.5, 255).astype(np.uint8)
    out = np.empty_like(images)
    _counts(images.ravel(), uniforms(draws, *images.shape[1:]).ravel(), share, first, values, out.ravel())
    return out


@compiled
def _counts(
    images: np.ndarray, uniform: np.ndarray, share: np.ndarray, first: np.ndarray, values: np.ndarray, out: np.ndarray
) -> None:
    """The count at which the distribution function of each pixel's shade passes its uniform number."""
    for i in range(len(images)):
        shade = images[i]
        row, u = share[shade], uniform[i]
        count = first[shade]
        while count > 0 and row[count - 1] > u:
            count -= 1
        while count < len(row) and row[count] <= u:
            count += 1
        out[i] = values[count]


@register("impulse_noise", "noise", (0.17,), suite="mnist-c")
@register("impulse_noise", "noise", (0.03, 0.06, 0.09, 0.17, 0.27), suite="imagenet-c")
def impulse_noise(images: np.ndarray, draws: Draws, amount: float) -> np.ndarray:
    """A share of all numbers set to black or to white: salt and pepper."""
    uniform = uniforms(draws, *images.shape[1:])
    out = images.copy()
    out[uniform < amount / 2] = 0
    out[uniform >= 1 - amount / 2] = 255
    return out

"""Noise: Gaussian, shot, impulse and speckle."""

from functools import cache

import numpy as np
from scipy.stats import poisson

from unbraid.compiled import compiled
from unbraid.corruptions._draws import Draws, bits, normal_table
from unbraid.corruptions._registry import register

__all__ = ["gaussian_noise", "impulse_noise", "shot_noise", "speckle_noise"]


@register("gaussian_noise", "noise", (0.08, 0.12, 0.18, 0.26, 0.38), suite="imagenet-c")
def gaussian_noise(images: np.ndarray, draws: Draws, sigma: float) -> np.ndarray:
    """Normal noise added to every number."""
    out = np.empty_like(images)
    steps = np.float32(255 * sigma) * normal_table()
    _add(images.reshape(-1), bits(draws, *images.shape[1:]).reshape(-1), steps, out.reshape(-1))
    return out


@compiled
def _add(images: np.ndarray, drawn: np.ndarray, steps: np.ndarray, out: np.ndarray) -> None:
    low, high, half = np.float32(0), np.float32(255), np.float32(0.5)
    for i in range(len(images)):
        value = np.float32(images[i]) + steps[drawn[i]]
        out[i] = np.uint8(min(max(value, low), high) + half)


@register("speckle_noise", "noise", (0.15, 0.2, 0.35, 0.45, 0.6), suite="imagenet-c-holdout")
def speckle_noise(images: np.ndarray, draws: Draws, sigma: float) -> np.ndarray:
    """Normal noise in proportion to each number: black stays black."""
    out = np.empty_like(images)
    factors = 1 + np.float32(sigma) * normal_table()
    _multiply(images.reshape(-1), bits(draws, *images.shape[1:]).reshape(-1), factors, out.reshape(-1))
    return out


@compiled
def _multiply(images: np.ndarray, drawn: np.ndarray, factors: np.ndarray, out: np.ndarray) -> None:
    low, high, half = np.float32(0), np.float32(255), np.float32(0.5)
    for i in range(len(images)):
        value = np.float32(images[i]) * factors[drawn[i]]
        out[i] = np.uint8(min(max(value, low), high) + half)


@register("shot_noise", "noise", (3,), suite="mnist-c")
@register("shot_noise", "noise", (60, 25, 12, 5, 3), suite="imagenet-c")
def shot_noise(images: np.ndarray, draws: Draws, photons: float) -> np.ndarray:
    """Each number as a count of few photons: Poisson noise."""
    share, first, values = _tables(photons)
    out = np.empty_like(images)
    drawn = bits(draws, *images.shape[1:]).reshape(-1)
    _counts(images.reshape(-1), drawn, share, first, values, out.reshape(-1))
    return out


@cache
def _tables(photons: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each shade the distribution function of its count, the count by eight bits, and the shade of each count."""
    shades = np.arange(256) / 255 * photons
    most = int(poisson.ppf(1 - 1e-9, photons)) + 1
    share = poisson.cdf(np.arange(most)[None, :], shades[:, None]) * 65536  # [256, counts]
    first = np.stack([np.searchsorted(row, np.arange(0, 65536, 256) + 0.5, "right") for row in share])
    values = np.minimum(np.arange(most + 1) / photons * 255 + 0.5, 255).astype(np.uint8)
    return share.astype(np.float32), first.astype(np.uint8), values


@compiled
def _counts(
    images: np.ndarray, drawn: np.ndarray, share: np.ndarray, first: np.ndarray, values: np.ndarray, out: np.ndarray
) -> None:
    """The count at which the distribution function of each pixel's shade passes its number of 16 bits.

    ``first`` is the count for the upper eight bits alone; the rest seldom needs more than a step.
    """
    for i in range(len(images)):
        shade, number = images[i], np.float32(drawn[i]) + np.float32(0.5)
        count = first[shade, drawn[i] >> 8]
        while count < share.shape[1] and share[shade, count] <= number:
            count += 1
        out[i] = values[count]


@register("impulse_noise", "noise", (0.17,), suite="mnist-c")
@register("impulse_noise", "noise", (0.03, 0.06, 0.09, 0.17, 0.27), suite="imagenet-c")
def impulse_noise(images: np.ndarray, draws: Draws, amount: float) -> np.ndarray:
    """A share of all numbers set to black or to white: salt and pepper."""
    out = np.empty_like(images)
    half = round(amount / 2 * 65536)
    _hit(images.reshape(-1), bits(draws, *images.shape[1:]).reshape(-1), half, out.reshape(-1))
    return out


@compiled
def _hit(images: np.ndarray, drawn: np.ndarray, half: int, out: np.ndarray) -> None:
    for i in range(len(images)):
        out[i] = 0 if drawn[i] < half else 255 if drawn[i] >= 65536 - half else images[i]

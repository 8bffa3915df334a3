"""Splashes against scipy's filters."""

import numpy as np
from corruption_toys import as_bytes, pictures, unit
from scipy import ndimage

from unbraid.corruptions import corrupt
from unbraid.corruptions._draws import draws_of


def layer(name: str, severity: int, size: int, mean: float, std: float, sigma: float) -> np.ndarray:
    rng = draws_of(0, name, severity, np.array([1]))[0]
    noise = mean + std * rng.standard_normal((size, size), dtype=np.float32)
    return ndimage.gaussian_filter(noise.astype(float), sigma, mode="nearest")


def test_mud_on_digits_hides_what_lies_below():
    images = pictures(2, 28, 1)
    liquid = layer("mnist-c/spatter", 1, 28, 0.65, 0.3, 1)
    mask = ndimage.gaussian_filter((liquid > 0.65).astype(float), 1.5, mode="nearest")
    mask[mask < 0.8] = 0
    expected = unit(images)[1, :, :, 0] * (1 - mask) + mask * 63 / 255
    found = corrupt(images, "mnist-c/spatter")[1, :, :, 0]
    # A number at the threshold itself may fall to either side.
    assert (np.abs(found.astype(int) - as_bytes(expected)) <= 1).mean() > 0.99
    assert 0.05 < (mask > 0).mean() < 0.5

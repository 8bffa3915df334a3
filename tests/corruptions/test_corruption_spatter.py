"""Splashes against scipy's filters."""

import numpy as np
import pytest
from corruption_toys import as_bytes, pictures, unit
from scipy import ndimage

from unbraid.corruptions import corrupt
from unbraid.corruptions._canny import edges
from unbraid.corruptions._draws import draws_of, normals
from unbraid.corruptions.spatter import _drops


def layer(name: str, severity: int, size: int, mean: float, std: float, sigma: float) -> np.ndarray:
    noise = mean + std * normals(draws_of(0, name, severity, np.array([1])), size, size)[0]
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


@pytest.mark.parametrize("severity", [4, 5])
def test_mud_is_brown(severity):
    images = pictures(2, 64, 3)
    mean, std = {4: (0.65, 0.3), 5: (0.67, 0.4)}[severity]
    liquid = layer("imagenet-c-holdout/spatter", severity, 64, mean, std, 1)
    mask = ndimage.gaussian_filter((liquid > 0.65).astype(float), 1.5, mode="nearest")[..., None]
    mask[mask < 0.8] = 0
    expected = unit(images)[1] * (1 - mask) + mask * np.array([63, 42, 20]) / 255
    found = corrupt(images, "spatter", severity)[1]
    assert (np.abs(found.astype(int) - as_bytes(expected)) <= 1).mean() > 0.99


@pytest.mark.parametrize("severity", [1, 2, 3])
def test_water_shines_where_the_layer_passes_the_threshold_and_nowhere_else(severity):
    black = np.zeros((2, 224, 224, 3), np.uint8)
    sigma, threshold, strength = {1: (4, 0.69, 0.6), 2: (3, 0.68, 0.6), 3: (2, 0.68, 0.5)}[severity]
    liquid = layer("imagenet-c-holdout/spatter", severity, 224, 0.65, 0.3, sigma)
    found = corrupt(black, "spatter", severity)[1]
    assert (found[liquid < threshold - 1e-4] == 0).all()
    assert (found[liquid > threshold].max(axis=0) == as_bytes(strength * np.array([175, 238, 238]) / 255)).all()
    assert 0.2 < (found[liquid > threshold] > 0).mean() < 1


def test_light_falls_on_one_side_of_a_drop():
    y, x = np.mgrid[:41, :41] - 20
    round_drop = ((x**2 + y**2 < 120) * 0.7).astype(np.float32)[None, :, :, None]
    shine = _drops(round_drop)[0, :, :, 0]
    assert shine.max() == pytest.approx(1)
    assert (shine[round_drop[0, :, :, 0] == 0] == 0).all()
    # The relief rises from the upper left, where the distance to the rim grows along it.
    upper, lower = shine[x + y < -4].sum(), shine[x + y > 4].sum()
    assert upper > 1.5 * lower


def test_drops_are_lit_by_the_distance_to_their_rims():
    rng = np.random.default_rng(0)
    liquid = np.clip(ndimage.gaussian_filter(rng.normal(0, 1, (3, 50, 60)), (0, 4, 4)) * 4 + 0.3, 0, None)
    liquid[2] = 0  # a dry one
    found = _drops(liquid.astype(np.float32)[..., None])[..., 0]
    rims = edges((liquid > 0).astype(np.float32), 0.5, 0.1, 0.2)
    for wet, rim, shine in zip(liquid[:2], rims, found, strict=False):
        far = np.minimum(ndimage.distance_transform_edt(~rim), 20)
        smooth = ndimage.uniform_filter(far, 3, mode="mirror")
        relief = ndimage.correlate(smooth, np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]), mode="mirror")
        light = ndimage.uniform_filter(relief, 3, mode="mirror").clip(0)
        assert shine == pytest.approx(wet * light / (wet * light).max(), abs=1e-4)
    assert (found[2] == 0).all()

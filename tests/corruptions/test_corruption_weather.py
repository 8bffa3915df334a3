"""Weather against slow formulas."""

import colorsys

import numpy as np
import pytest
from corruption_toys import as_bytes, pictures, unit
from scipy import ndimage

from unbraid.corruptions import IMAGENET_C, corrupt
from unbraid.corruptions._draws import draws_of, each, normals, uniforms
from unbraid.corruptions._textures import frosty, plasma


def cloud(uniform: np.ndarray, size: int, decay: float) -> np.ndarray:
    """Diamond-square with one neighbour after the other; numbers in the order in which points are filled."""
    heights = {(0, 0): 0.0}
    numbers = iter(uniform)

    def fill(i, j, neighbours, wobble):
        mean = sum(heights[(i + a) % size, (j + b) % size] for a, b in neighbours) / 4
        heights[i, j] = mean + wobble * (2 * float(next(numbers)) - 1) * wobble

    step, wobble = size, 100.0
    while step >= 2:
        h = step // 2
        for i in range(h, size, step):
            for j in range(h, size, step):
                fill(i, j, [(-h, -h), (-h, h), (h, -h), (h, h)], wobble)
        for down, right in ((0, h), (h, 0)):
            for i in range(down, size, step):
                for j in range(right, size, step):
                    fill(i, j, [(-h, 0), (h, 0), (0, -h), (0, h)], wobble)
        step, wobble = h, wobble / decay
    found = np.array([[heights[i, j] for j in range(size)] for i in range(size)])
    return (found - found.min()) / (found.max() - found.min())


@pytest.mark.parametrize("decay", [1.4, 2])
def test_plasma_is_diamond_square(decay):
    draws = draws_of(0, "toy", 1, np.arange(2))
    found = plasma(draws, 32, decay)
    uniform = uniforms(draws_of(0, "toy", 1, np.array([1])), 32 * 32)[0]
    assert found[1] == pytest.approx(cloud(uniform, 32, decay), abs=1e-4)
    assert (plasma(draws_of(0, "toy", 1, np.arange(2)), 32, decay, 9, 13) == found[:, :9, :13]).all()
    assert found.min(axis=(1, 2)) == pytest.approx(0)
    assert found.max(axis=(1, 2)) == pytest.approx(1)


@pytest.mark.parametrize("name", ["imagenet-c/fog", "mnist-c/fog"])
def test_fog_is_a_corner_of_the_plasma_at_the_same_greatest_brightness(name):
    images = pictures(2, 28, 1)
    thickness, decay = (3, 1.4) if name.startswith("mnist") else (1.5, 2)
    clouds = plasma(draws_of(0, name, 1, np.array([1])), 256, decay)[0, :28, :28, None]
    x = unit(images)[1]
    expected = (x + thickness * clouds) * x.max() / (x.max() + thickness)
    found = corrupt(images, name)[1]
    assert np.abs(found.astype(int) - as_bytes(expected)).max() <= 1
    assert (corrupt(np.zeros_like(images), name) == 0).all(), "fog is as bright as the image"


@pytest.mark.parametrize("severity", [1, 3, 5])
def test_brightness_raises_the_value_of_hue_saturation_value(severity):
    images = pictures(1, 16, 3)
    images[0, 0, 0] = 0
    expected = np.empty(images.shape[1:])
    for place in np.ndindex(16, 16):
        hue, saturation, value = colorsys.rgb_to_hsv(*unit(images)[0][place])
        expected[place] = colorsys.hsv_to_rgb(hue, saturation, min(value + severity / 10, 1))
    found = corrupt(images, "brightness", severity)[0]
    assert np.abs(found.astype(int) - as_bytes(expected)).max() <= 1


def test_brightness_of_digits_adds_a_half():
    images = pictures(2, 28, 1)
    # A half is 127.5 of 255, and halves are rounded up.
    assert (corrupt(images, "mnist-c/brightness") == np.minimum(images.astype(int) + 128, 255)).all()


@pytest.mark.parametrize("severity", [1, 4])
def test_snow_layer_by_layer(severity):
    images = pictures(2, 56, 3)  # lengths are halved: 56 is a quarter of 224
    mean, std, zoom, threshold, radius, sigma, mix = IMAGENET_C["snow"].settings[severity - 1]
    draws = draws_of(0, "imagenet-c/snow", severity, np.array([1]))
    side = int(np.ceil(56 / (zoom / 2))) + 1
    small = mean + std * normals(draws, side, side)[0]
    degrees = each(draws, -135, -45)[0]
    places = np.clip((np.arange(56) - 27.5) / (zoom / 2) + (side - 1) / 2, 0, side - 1)
    flakes = ndimage.map_coordinates(small.astype(float), np.meshgrid(places, places, indexing="ij"), order=1)
    flakes = np.where(flakes < threshold, 0, flakes.clip(0, 1))
    steps = 2 * int(np.ceil(radius / 2)) + 1
    weights = np.exp(-(np.arange(steps) ** 2) / (2 * (sigma / 2) ** 2))
    blown = np.zeros((56, 56))
    for i, j, k in np.ndindex(56, 56, steps):
        row = np.clip(i + int(np.ceil(k * np.sin(np.deg2rad(degrees)) - 0.5)), 0, 55)
        column = np.clip(j + int(np.ceil(k * np.cos(np.deg2rad(degrees)) - 0.5)), 0, 55)
        blown[i, j] += weights[k] / weights.sum() * flakes[row, column]
    x = unit(images)[1]
    grey = (x @ [0.299, 0.587, 0.114])[..., None]
    expected = mix * x + (1 - mix) * np.maximum(x, 1.5 * grey + 0.5)
    expected = expected + blown[..., None] + np.rot90(blown, 2)[..., None]
    assert np.abs(corrupt(images, "snow", severity)[1].astype(int) - as_bytes(expected)).max() <= 1


@pytest.mark.parametrize("severity", [1, 5])
def test_frost_mixes_image_and_ice(severity):
    images = pictures(2, 40, 1)
    image, ice = IMAGENET_C["frost"].settings[severity - 1]
    texture = frosty(draws_of(0, "imagenet-c/frost", severity, np.array([1])), 40, 40)[0, ..., None]
    expected = as_bytes(image * unit(images)[1] + ice * texture)
    assert np.abs(corrupt(images, "frost", severity)[1].astype(int) - expected).max() <= 1


def test_ice_has_sharp_bright_ridges_on_a_darker_ground():
    texture = frosty(draws_of(0, "toy", 1, np.arange(8)), 128, 128)
    assert 0.25 < texture.mean() < 0.65
    assert (texture > 0.75).mean() > 0.05
    # Neighbours differ more than in a smooth cloud of the same spread.
    clouds = plasma(draws_of(0, "toy", 1, np.arange(8)), 128, 2.0)
    rough = [np.abs(np.diff(maps, axis=2)).mean() / maps.std() for maps in (texture, clouds)]
    assert rough[0] > 2 * rough[1]
    assert not (texture[0] == texture[1]).all()

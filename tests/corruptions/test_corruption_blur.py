"""Blurs against loops over kernels, pixel by pixel."""

import numpy as np
import pytest
from corruption_toys import as_bytes, pictures, unit
from scipy import ndimage

from unbraid.corruptions import IMAGENET_C, corrupt
from unbraid.corruptions._draws import bits, draws_of, each
from unbraid.corruptions._filters import scaled
from unbraid.corruptions.blur import disk


def close(found: np.ndarray, expected: np.ndarray) -> None:
    assert np.abs(found.astype(int) - as_bytes(expected)).max() <= 1


def at_224(length: float, size: int) -> float:
    return length * np.sqrt(size / 224)


def test_lengths_are_those_of_the_paper_at_224_pixels_and_go_with_the_root_of_the_shorter_side():
    assert scaled(10, np.zeros((1, 224, 300, 3))) == 10
    assert scaled(10, np.zeros((1, 80, 56, 3))) == pytest.approx(5)


def test_the_disk_of_ten_pixels():
    kernel = disk(10, 0.5)
    assert kernel.shape == (25, 25)
    assert kernel.sum() == pytest.approx(1)
    assert kernel == pytest.approx(kernel.T)
    hard = disk(3, 0.1)
    assert (hard > 1e-6).sum() == 29  # whole points within a radius of three
    assert hard.max() == pytest.approx(1 / 29)


@pytest.mark.parametrize("severity", [1, 4])
def test_defocus_is_a_correlation_with_the_disk(severity):
    images = pictures(2, 40, 3)
    radius, softness = IMAGENET_C["defocus_blur"].settings[severity - 1]
    kernel = disk(at_224(radius, 40), softness)
    expected = ndimage.correlate(unit(images), kernel[None, :, :, None], mode="mirror")
    close(corrupt(images, "defocus_blur", severity), expected)


@pytest.mark.parametrize("severity", [1, 5])
def test_gaussian_blur_is_scipys(severity):
    images = pictures(2, 40, 3)
    sigma = at_224((1, 2, 3, 4, 6)[severity - 1], 40)
    expected = ndimage.gaussian_filter(unit(images), (0, sigma, sigma, 0), mode="nearest")
    close(corrupt(images, "gaussian_blur", severity), expected)


def glass(image, draws, sigma, distance, rounds, chance):
    height, width, _ = image.shape
    image = ndimage.gaussian_filter(image, (sigma, sigma, 0), mode="nearest")
    drawn = bits(draws, rounds, height, width, 2)[0].astype(float)
    moves = np.floor(drawn / 65536 * 2 * distance).astype(int) - distance
    keep = (drawn[..., 0] % 2 == 1) & (chance < 1)
    for k in range(rounds):
        for i in range(height - distance, distance, -1):
            for j in range(width - distance, distance, -1):
                if not keep[k, i, j]:
                    di, dj = moves[k, i, j]
                    image[[i, i + di], [j, j + dj]] = image[[i + di, i], [j + dj, j]]
    return ndimage.gaussian_filter(image, (sigma, sigma, 0), mode="nearest")


@pytest.mark.parametrize("severity", [1, 3, 5])
def test_glass_swaps_pixels_one_by_one(severity):
    images = pictures(2, 40, 3)
    sigma, distance, rounds = IMAGENET_C["glass_blur"].settings[severity - 1]
    rng = draws_of(0, "imagenet-c/glass_blur", severity, np.array([1]))
    distance = max(1, round(at_224(distance, 40)))
    expected = glass(unit(images)[1], rng, at_224(sigma, 40), distance, rounds, 1)
    close(corrupt(images, "glass_blur", severity)[1], expected)


def test_glass_of_digits_swaps_half_of_them():
    images = pictures(2, 28, 1)
    rng = draws_of(5, "mnist-c/glass_blur", 1, np.array([1]))
    close(corrupt(images, "mnist-c/glass_blur", 1, 5)[1], glass(unit(images)[1], rng, 0.7, 1, 2, 0.5))


def motion(image, radius, sigma, degrees):
    height, width, _ = image.shape
    steps = 2 * int(np.ceil(radius)) + 1
    weights = [np.exp(-(k**2) / (2 * sigma**2)) for k in range(steps)]
    out = np.zeros_like(image)
    for i in range(height):
        for j in range(width):
            for k, weight in enumerate(weights):
                row = i + int(np.ceil(k * np.sin(np.deg2rad(degrees)) - 0.5))
                column = j + int(np.ceil(k * np.cos(np.deg2rad(degrees)) - 0.5))
                out[i, j] += weight * image[np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)]
    return out / sum(weights)


@pytest.mark.parametrize("name", ["imagenet-c/motion_blur", "mnist-c/motion_blur"])
def test_motion_is_a_fading_line(name):
    images = pictures(2, 28, 1)
    degrees = each(draws_of(0, name, 1, np.array([1])), -45, 45)[0]
    setting = (10, 3) if name.startswith("mnist") else (at_224(10, 28), at_224(3, 28))
    close(corrupt(images, name, 1)[1], motion(unit(images)[1], *setting, degrees))


def test_a_motion_draws_a_point_out_to_one_side():
    point = np.zeros((1, 41, 41, 1), np.uint8)
    point[0, 20, 20] = 255
    found = unit(corrupt(point, "mnist-c/motion_blur"))[0, :, :, 0]
    assert found[:, 21:].sum() == 0
    assert found.sum() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(("severity", "factors"), [(1, 11), (2, 16), (3, 11), (4, 13), (5, 11)])
def test_zoom_is_the_mean_of_enlarged_copies(severity, factors):
    images = pictures(1, 30, 3)
    step = (0.01, 0.01, 0.02, 0.02, 0.03)[severity - 1]
    expected = unit(images)[0]
    places = np.arange(30) - 14.5
    for k in range(factors):
        y, x = np.meshgrid(places / (1 + k * step) + 14.5, places / (1 + k * step) + 14.5, indexing="ij")
        copy = [ndimage.map_coordinates(unit(images)[0, :, :, c], [y, x], order=1) for c in range(3)]
        expected = expected + np.stack(copy, axis=2)
    close(corrupt(images, "zoom_blur", severity)[0], expected / (factors + 1))


@pytest.mark.parametrize("name", ["defocus_blur", "motion_blur", "zoom_blur", "gaussian_blur", "glass_blur"])
def test_a_blur_leaves_an_even_image_even(name):
    even = np.full((2, 32, 32, 3), 77, np.uint8)
    assert (corrupt(even, name, 5) == 77).all()

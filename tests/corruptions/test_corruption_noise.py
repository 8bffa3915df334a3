"""Noise against its distribution."""

import numpy as np
import pytest
from corruption_toys import as_bytes, pictures, unit
from scipy.stats import norm, poisson

from unbraid.corruptions import IMAGENET_C, MNIST_C, corrupt
from unbraid.corruptions._draws import draws_of, normals

GREY = np.full((8, 64, 64, 3), 128, np.uint8)


@pytest.mark.parametrize("severity", [1, 3, 5])
def test_gaussian_noise_is_the_images_own_normal_numbers(severity):
    images, sigma = pictures(2, 20, 3), (0.08, 0.12, 0.18, 0.26, 0.38)[severity - 1]
    draws = draws_of(7, "imagenet-c/gaussian_noise", severity, np.array([1]))
    expected = as_bytes(unit(images[1]) + sigma * normals(draws, 20, 20, 3)[0])
    found = corrupt(images, "gaussian_noise", severity, seed=7)[1]
    assert np.abs(found.astype(int) - expected).max() <= 1


def test_gaussian_noise_has_its_moments():
    noise = unit(corrupt(GREY, "gaussian_noise", 1)) - 128 / 255
    assert noise.mean() == pytest.approx(0, abs=0.001)
    assert noise.std() == pytest.approx(0.08, rel=0.01)
    black = unit(corrupt(0 * GREY, "gaussian_noise", 5))
    # The mean of a normal number cut off below 0 and above 1.
    cut = 0.38 * (norm.pdf(0) - norm.pdf(1 / 0.38)) + norm.sf(1 / 0.38)
    assert black.mean() == pytest.approx(cut, rel=0.01)


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("shade", [0, 10, 128, 255])
def test_shot_noise_counts_photons(severity, shade):
    photons = (60, 25, 12, 5, 3)[severity - 1]
    found = corrupt(np.full_like(GREY, shade), "shot_noise", severity).ravel()
    counts = np.arange(200)
    values = as_bytes(counts / photons)
    expected = np.bincount(values, poisson.pmf(counts, shade / 255 * photons), minlength=256)
    share = np.bincount(found, minlength=256) / found.size
    assert np.abs(share - expected).max() < 4 * 0.5 / np.sqrt(found.size)


@pytest.mark.parametrize("severity", [1, 5])
def test_impulse_noise_is_salt_and_pepper(severity):
    amount = {1: 0.03, 5: 0.27}[severity]
    found = corrupt(GREY, "impulse_noise", severity)
    assert set(np.unique(found)) == {0, 128, 255}
    for value in (0, 255):
        assert (found == value).mean() == pytest.approx(amount / 2, rel=0.05)


def test_speckle_leaves_black_black_and_gaussian_noise_does_not():
    black = np.zeros((2, 28, 28, 1), np.uint8)
    assert (corrupt(black, "speckle_noise", 5) == 0).all()
    assert (corrupt(black, "gaussian_noise", 1) > 0).any()
    noise = unit(corrupt(GREY, "speckle_noise", 2)) / (128 / 255) - 1
    assert noise.std() == pytest.approx(0.2, rel=0.01)


def test_noise_of_digits_has_its_setting():
    assert MNIST_C["shot_noise"].settings == ((3,),)
    assert MNIST_C["impulse_noise"].settings == ((0.17,),)
    noise = [name for name, found in IMAGENET_C.items() if found.category == "noise"]
    assert noise == ["gaussian_noise", "shot_noise", "impulse_noise"]

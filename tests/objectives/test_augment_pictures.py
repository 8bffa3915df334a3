"""Augmentations of pictures, each against a direct formulation, pixel by pixel."""

import math

import numpy as np
import pytest
import torch
from scipy.ndimage import correlate1d

from unbraid.errors import UsageError
from unbraid.objectives import augment


def noise():
    return torch.Generator().manual_seed(3)


def pictures(n=6, channels=2, height=9, width=12):
    return torch.rand(n, channels, height, width, generator=torch.Generator().manual_seed(1))


def test_erasing_fills_one_rectangle_of_the_drawn_size_with_one_grey():
    images = pictures(200, 2, 20, 30)
    erasing = augment.make("random-erasing:least=0.05,most=0.3,ratio=2")
    changed = erasing(images, noise())
    part, tall, down, across, grey = torch.rand(5, 200, generator=noise()).double().numpy()
    for image, before, p, t, d, a, g in zip(changed, images, part, tall, down, across, grey, strict=True):
        area, side = (0.05 + 0.25 * p) * 600, 2 ** (t - 0.5)  # height / width from 1/2 to 2
        high, wide = min(round(math.sqrt(area) * side), 20), min(round(math.sqrt(area) / side), 30)
        top, left = int(d * (20 - high + 1)), int(a * (30 - wide + 1))
        expected = before.clone()
        expected[:, top : top + high, left : left + wide] = g
        torch.testing.assert_close(image, expected)


def test_erased_rectangles_reach_every_pixel_and_no_further():
    blank = torch.full((3000, 1, 8, 8), -1.0)
    lost = augment.make("random-erasing:least=0.1,most=0.2")(blank, noise()) >= 0
    assert lost.any(0).all()
    assert 0.08 < lost.float().mean() < 0.22


def test_a_shear_moves_rows_by_the_tangent_of_the_angle():
    images = pictures()
    changed = augment.make("shear:degrees=30")(images, noise()).numpy()
    angles = math.radians(30) * (2 * torch.rand(6, generator=noise()).numpy() - 1)
    expected = np.zeros_like(changed)
    for n, angle in enumerate(angles):
        for row in range(9):
            for column in range(12):
                source = column + math.tan(angle) * (row - 4)
                for step in (0, 1):
                    place = math.floor(source) + step
                    if 0 <= place < 12:
                        expected[n, :, row, column] += (1 - abs(source - place)) * images[n, :, row, place].numpy()
    np.testing.assert_allclose(changed, expected, atol=1e-5)
    np.testing.assert_allclose(changed[:, :, 4], images[:, :, 4], atol=1e-6)  # no shift: the middle row stays


def test_blur_is_a_normal_average_with_edges_repeated():
    images = pictures()
    changed = augment.make("blur:sigma=2")(images, noise()).numpy()
    for n, sigma in enumerate(2 * torch.rand(6, generator=noise()).double().numpy()):
        weights = np.exp(-0.5 * (np.arange(-6, 7) / sigma) ** 2)
        weights /= weights.sum()
        expected = images[n].double().numpy()
        for axis in (1, 2):
            expected = correlate1d(expected, weights, axis=axis, mode="nearest")
        np.testing.assert_allclose(changed[n], expected, atol=1e-5)


@pytest.mark.parametrize("name", ["blur:sigma=0", "shear:degrees=0"])
def test_nothing_asked_changes_nothing(name):
    torch.testing.assert_close(augment.make(name)(pictures(), noise()), pictures())


@pytest.mark.parametrize("name", ["blur", "shear", "random-erasing"])
def test_training_precision_does_not_round_images(name):
    with torch.autocast("cpu", torch.bfloat16):
        rounded = augment.make(name)(pictures(), noise())
    torch.testing.assert_close(rounded, augment.make(name)(pictures(), noise()), atol=0, rtol=0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("blur:sigma=-1", "sigma must be"),
        ("shear:degrees=90", "degrees must lie"),
        ("random-erasing:least=0.3,most=0.2", "least and most must be"),
        ("random-erasing:ratio=0.5", "ratio must be at least 1"),
    ],
)
def test_settings_that_cannot_be_are_refused(text, words):
    with pytest.raises(UsageError, match=words):
        augment.make(text)

"""Digital corruptions against slow formulas."""

import colorsys
from io import BytesIO

import numpy as np
import pytest
from corruption_toys import as_bytes, pictures, unit
from PIL import Image
from scipy import ndimage

from unbraid.corruptions import IMAGENET_C, IMAGENET_C_HOLDOUT, corrupt
from unbraid.corruptions._draws import draws_of, uniforms
from unbraid.corruptions._jpeg import round_trip
from unbraid.corruptions._smooth import smooth_fields


def close(found: np.ndarray, expected: np.ndarray) -> None:
    assert np.abs(found.astype(int) - expected).max() <= 1


@pytest.mark.parametrize("severity", [1, 5])
def test_contrast_draws_each_channel_to_its_mean(severity):
    images = pictures(2, 20, 3)
    factor = (0.4, 0.3, 0.2, 0.1, 0.05)[severity - 1]
    mean = unit(images).mean(axis=(1, 2), keepdims=True)
    close(corrupt(images, "contrast", severity), as_bytes((unit(images) - mean) * factor + mean))


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
def test_pixelate_at_224_pixels_is_pillows_box_down_and_up(severity):
    images = pictures(1, 224, 3)
    side = int(224 * (0.6, 0.5, 0.4, 0.3, 0.25)[severity - 1])
    small = Image.fromarray(images[0]).resize((side, side), Image.Resampling.BOX)
    expected = np.asarray(small.resize((224, 224), Image.Resampling.BOX))
    close(corrupt(images, "pixelate", severity)[0], expected)


def test_pixelate_keeps_the_mean_where_blocks_fit():
    images = pictures(2, 224, 1)
    found = corrupt(images, "pixelate", 2)
    assert (found[:, ::2, ::2] == found[:, 1::2, 1::2]).all()
    blocks = unit(images).reshape(2, 112, 2, 112, 2).mean(axis=(2, 4))
    close(found[:, ::2, ::2, 0], as_bytes(blocks))


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", [(16, 16), (28, 28), (24, 33), (17, 40), (64, 50), (30, 200)])
def test_jpeg_is_a_file_of_low_quality_byte_by_byte(size, channels):
    # Waves with a disk, and noise, which has all frequencies; blocks that are cut off at the right and below.
    noise = np.random.default_rng(0).integers(0, 256, (1, *size, channels), dtype=np.uint8)
    images = np.concatenate([pictures(1, 200, channels)[:, : size[0], : size[1]], noise])
    for severity, quality in enumerate((25, 18, 15, 10, 7), 1):
        found = corrupt(images, "jpeg_compression", severity)
        for image, spoiled in zip(images, found, strict=True):
            file = BytesIO()
            Image.fromarray(image.squeeze()).save(file, "JPEG", quality=quality)
            assert (spoiled.squeeze() == np.asarray(Image.open(file))).all()


@pytest.mark.parametrize("quality", [50, 75, 95])
def test_jpeg_of_high_quality_too(quality):
    images = pictures(1, 48, 3)
    file = BytesIO()
    Image.fromarray(images[0]).save(file, "JPEG", quality=quality)
    assert (round_trip(images, quality)[0] == np.asarray(Image.open(file))).all()


@pytest.mark.parametrize("sigma", [0.9, 3, 4.5, 10, 60])
def test_smooth_fields_are_mirrored_and_blurred(sigma):
    found = smooth_fields(draws_of(0, "toy", 1, np.arange(2)), 40, 30, sigma)
    fields = 2 * uniforms(draws_of(0, "toy", 1, np.array([1])), 2, 40, 30)[0].astype(float) - 1
    expected = [ndimage.gaussian_filter(field, sigma, mode="reflect", truncate=6) for field in fields]
    assert found[1] == pytest.approx(np.stack(expected), abs=1e-4)


@pytest.mark.parametrize("severity", [1, 2, 5])
def test_elastic_moves_corners_then_points(severity):
    images = pictures(2, 40, 3)
    side = 40 * 244 / 224
    amplitude, smoothness, jitter = (value * side for value in IMAGENET_C["elastic_transform"].settings[severity - 1])
    draws = draws_of(0, "imagenet-c/elastic_transform", severity, np.array([1]))
    before = 20 + 13 * np.array([[1, 1], [-1, 1], [-1, -1]])
    after = before + jitter * (2 * uniforms(draws, 3, 2)[0].astype(float) - 1)
    # The affine map that takes each moved corner back, by its six unknowns.
    unknown = np.linalg.solve(np.c_[after, np.ones(3)], before)
    fields = 2 * uniforms(draws, 2, 40, 40)[0].astype(float) - 1
    dy, dx = (amplitude * ndimage.gaussian_filter(f, smoothness, mode="reflect", truncate=6) for f in fields)
    y, x = np.mgrid[:40, :40]
    places = np.stack([y + dy, x + dx, np.ones((40, 40))], axis=2) @ unknown
    expected = [
        ndimage.map_coordinates(unit(images)[1, :, :, c], np.moveaxis(places, 2, 0), order=1, mode="reflect")
        for c in range(3)
    ]
    found = corrupt(images, "elastic_transform", severity)[1].astype(int)
    # Thousandths of a pixel are a few shades at the edge of the disk.
    assert np.abs(found - as_bytes(np.stack(expected, axis=2))).max() <= 3


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
def test_saturate_changes_the_saturation_of_hue_saturation_value(severity):
    images = pictures(1, 16, 3)
    images[0, 0, :2] = [[0, 0, 0], [90, 90, 90]]
    factor, more = IMAGENET_C_HOLDOUT["saturate"].settings[severity - 1]
    expected = np.empty(images.shape[1:])
    for place in np.ndindex(16, 16):
        hue, saturation, value = colorsys.rgb_to_hsv(*unit(images)[0][place])
        expected[place] = colorsys.hsv_to_rgb(hue, np.clip(saturation * factor + more, 0, 1), value)
    close(corrupt(images, "saturate", severity)[0], as_bytes(expected))

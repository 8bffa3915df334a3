"""Geometry of digits against scipy's affine maps."""

import numpy as np
import pytest
from corruption_toys import as_bytes, pictures, unit
from scipy import ndimage

from unbraid.corruptions import corrupt
from unbraid.corruptions._draws import draws_of


def sign_of(name: str, index: int) -> int:
    word = draws_of(0, f"mnist-c/{name}", 1, np.array([index])).words(1)[0, 0]
    return 1 if word % 2 else -1


def mapped(image: np.ndarray, matrix: list[list[float]]) -> np.ndarray:
    """Rows first: the place in the image that each pixel shows, about (13.5, 13.5)."""
    found = np.asarray(matrix)
    centre = np.array([13.5, 13.5])
    padded = np.pad(image[:, :, 0], 2)  # black goes on beyond the edge
    return ndimage.affine_transform(padded, found, centre + 2 - found @ (centre + 2), order=1)[2:-2, 2:-2, None]


@pytest.mark.parametrize("name", ["shear", "rotate", "scale"])
def test_maps_are_about_the_centre(name):
    images = pictures(6, 28, 1)
    found = corrupt(images, f"mnist-c/{name}")
    seen = set()
    for index in range(6):
        a = 0.4 * (1 if name == "scale" else sign_of(name, index))
        seen.add(a)
        matrix = {
            "shear": [[np.cos(a), 0], [-np.sin(a), 1]],
            "rotate": [[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]],
            "scale": [[1 / 0.7, 0], [0, 1 / 0.7]],
        }[name]
        assert np.abs(found[index].astype(int) - as_bytes(mapped(unit(images)[index], matrix))).max() <= 1
    assert len(seen) == (1 if name == "scale" else 2)


def test_translate_shifts_by_three_pixels_both_ways():
    images = pictures(16, 28, 1) | 1  # no black pixels
    found = corrupt(images, "translate")
    seen = set()
    for image, moved in zip(images, found, strict=True):
        for down, right in ((-3, -3), (-3, 3), (3, -3), (3, 3)):
            if (ndimage.shift(image[:, :, 0], (down, right), order=0) == moved[:, :, 0]).all():
                seen.add((down, right))
    assert len(seen) == 4
    assert ((found == 0).sum(axis=(1, 2, 3)) == 28 * 28 - 25 * 25).all()


def test_shifts_grow_with_the_image():
    point = np.zeros((1, 56, 56, 1), np.uint8)
    point[0, 20, 30] = 255
    row, column = np.argwhere(corrupt(point, "translate")[0, :, :, 0])[0]
    assert (abs(row - 20), abs(column - 30)) == (6, 6)

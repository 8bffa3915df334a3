"""Marks on digits, pixel by pixel."""

from itertools import pairwise

import numpy as np
import pytest
from corruption_toys import as_bytes, pictures, unit
from scipy import ndimage

from unbraid.corruptions import corrupt
from unbraid.corruptions._draws import draws_of, integers


def test_stripe_inverts_columns_and_twice_is_the_identity():
    images = pictures(2, 28, 1)
    found = corrupt(images, "stripe")
    assert (found[:, :, :7] == 255 - images[:, :, :7]).all()
    assert (found[:, :, 21:] == 255 - images[:, :, 21:]).all()
    assert (found[:, :, 7:21] == images[:, :, 7:21]).all()
    assert (corrupt(found, "stripe") == images).all()


def stroke(c0: float, r0: float, c1: float, r1: float) -> np.ndarray:
    found = np.zeros((28, 28))
    for row, column in np.ndindex(28, 28):
        d = abs(row - (r0 + (r1 - r0) * (column - c0) / (c1 - c0)))
        if int(np.floor(c0)) <= column < int(np.ceil(c1)) and d < 2.3:
            found[row, column] = np.clip(np.log(1 - d / 2.3) + 1, 0, 1)
    return found


def test_dotted_line_is_a_fading_pen_lifted_every_second_block():
    images = pictures(3, 28, 1) // 2
    found = corrupt(images, "dotted_line", seed=4)
    for index in range(3):
        start, end = integers(draws_of(4, "mnist-c/dotted_line", 1, np.array([index])), 0, 27, 2)[0]
        line = stroke(0, start, 27, end)
        for column in range(0, 28, 4):
            line[:, column : column + 2] = 0
        expected = as_bytes(unit(images)[index] + line[..., None])
        assert np.abs(found[index].astype(int) - expected).max() <= 1
    assert (found >= images).all()


def test_zigzag_turns_at_two_above_and_two_below_a_line():
    black = np.zeros((40, 28, 28, 1), np.uint8)
    found = corrupt(black, "zigzag")
    for index in range(5):
        draws = draws_of(0, "mnist-c/zigzag", 1, np.array([index]))
        row, rise = (int(integers(draws, low, high, 1)[0, 0]) for low, high in ((0, 27), (-5, 5)))
        angle = np.arctan(rise / 23)
        corners = [(0, 0), (2, 2), (6, -2), (10, 2), (14, -2), (18, 2), (22, -2)]
        length = 23 / np.cos(angle)
        corners.append((length, -2 + (length - 22)))
        turned = [
            (2 + a * np.cos(angle) - b * np.sin(angle), row + a * np.sin(angle) + b * np.cos(angle)) for a, b in corners
        ]
        ink = sum(stroke(*p, *q) for p, q in pairwise(turned))
        assert np.abs(found[index, :, :, 0].astype(int) - as_bytes(ink)).max() <= 1


@pytest.mark.parametrize("name", ["dotted_line", "zigzag"])
def test_pens_grow_with_the_sheet(name):
    small, large = (corrupt(np.zeros((4, size, size, 1), np.uint8), name) for size in (28, 56))
    assert np.abs(large[:, ::2, ::2].astype(int) - small).max() <= 1


def canny(image: np.ndarray) -> np.ndarray:
    """Canny's detector, one pixel after the other."""
    size = len(image)
    ones = ndimage.gaussian_filter(np.ones_like(image), 1, mode="constant")
    smooth = ndimage.gaussian_filter(image, 1, mode="constant") / ones
    dy, dx = ndimage.sobel(smooth, 0), ndimage.sobel(smooth, 1)
    slope = np.hypot(dy, dx)
    crest = np.zeros((size, size), bool)
    for i in range(1, size - 1):
        for j in range(1, size - 1):
            if slope[i, j] >= 0.1:
                step = np.array([dy[i, j], dx[i, j]]) / max(abs(dy[i, j]), abs(dx[i, j]))
                near = [
                    ndimage.map_coordinates(slope, [[i + s * step[0]], [j + s * step[1]]], order=1) for s in (-1, 1)
                ]
                crest[i, j] = max(near)[0] <= slope[i, j] + 1e-9
    keep = crest & (slope >= 0.2)
    while True:
        grown = ndimage.binary_dilation(keep, np.ones((3, 3))) & crest
        if (grown == keep).all():
            return keep
        keep = grown


def test_canny_edges_are_crests_that_touch_strong_ones():
    images = pictures(4, 28, 1)
    found = corrupt(images, "canny_edges")
    assert set(np.unique(found)) == {0, 255}
    for image, edge in zip(images, found, strict=True):
        assert ((edge[:, :, 0] > 0) == canny(unit(image)[:, :, 0])).mean() > 0.995


def test_the_edge_of_a_square_runs_round_it():
    square = np.zeros((1, 28, 28, 1), np.uint8)
    square[0, 8:20, 8:20] = 255
    edge = corrupt(square, "canny_edges")[0, :, :, 0] > 0
    assert edge.sum() >= 40
    assert not edge[11:17, 11:17].any()
    assert not edge[:6].any()

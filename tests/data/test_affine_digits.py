"""Digits moved by an affine map, against the map written out pixel by pixel."""

import numpy as np
import pytest

from unbraid import data
from unbraid.data.files.root import find_file
from unbraid.data.render.affine_glyphs import move_glyphs
from unbraid.errors import UsageError


@pytest.fixture(scope="module")
def digits():
    return data.load("affine-digits:source=digits8")


def literally_moved(glyph, scale, turn, across, down, slant, size, unit):
    """The forward map as a matrix, inverted by numpy; every pixel looks up its four neighbours, black outside."""
    slanted = np.array([[1.0, -slant], [0.0, 1.0]])  # rows below the middle lean to the left
    turned = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])  # against the clock, y downwards
    back = np.linalg.inv(scale * unit * turned @ slanted)
    side = len(glyph)
    padded = np.pad(glyph.astype(float), 1)
    out = np.zeros((size, size))
    for row in range(size):
        for column in range(size):
            place = np.array([column - (size - 1) / 2 - across, row - (size - 1) / 2 - down])
            x, y = back @ place + (side - 1) / 2
            if not (-1 < x < side and -1 < y < side):
                continue
            left, top = int(np.floor(x)), int(np.floor(y))
            a, b = x - left, y - top
            around = padded[top + 1 : top + 3, left + 1 : left + 3]
            out[row, column] = np.array([1 - b, b]) @ around @ np.array([1 - a, a])
    return out


@pytest.mark.parametrize("side", [8, 28])
def test_pixels_are_those_of_the_inverse_map_written_out(side):
    rng = np.random.default_rng(side)
    glyphs = rng.integers(0, 256, (3, side, side), dtype=np.uint8)
    columns = [rng.uniform(0.5, 1.2, 6), rng.uniform(-1, 1, 6), *rng.uniform(-4, 4, (2, 6)), rng.uniform(-0.5, 0.5, 6)]
    moves, which = np.stack(columns, axis=1), rng.integers(0, 3, 6)
    found = move_glyphs(glyphs, which, moves, 28, 20 / side)
    for image, glyph, move in zip(found, which, moves, strict=True):
        expected = literally_moved(glyphs[glyph], *move, 28, 20 / side)
        assert np.abs(image - expected).max() <= 0.5 + 1e-6  # rounded to bytes
    assert found.any()


def test_a_glyph_that_nothing_moves_is_itself():
    glyphs = np.arange(28 * 28, dtype=np.uint8).reshape(1, 28, 28)
    still = move_glyphs(glyphs, np.zeros(1, int), np.array([[1.0, 0, 0, 0, 0]]), 28, 1.0)
    assert (still == glyphs).all()
    right = move_glyphs(glyphs, np.zeros(1, int), np.array([[1.0, 0, 2, -1, 0]]), 28, 1.0)
    assert (right[0, :-1, 2:] == glyphs[0, 1:, :-2]).all()  # two to the right, one up


def test_a_quarter_turn_is_against_the_clock_and_a_slant_leans_to_the_right():
    glyphs = np.zeros((1, 28, 28), np.uint8)
    glyphs[0, 4, 14] = 200  # above the middle
    turned = move_glyphs(glyphs, np.zeros(1, int), np.array([[1.0, np.pi / 2, 0, 0, 0]]), 28, 1.0)[0]
    assert np.unravel_index(turned.argmax(), turned.shape) == (13, 4)  # (13.5, 13.5) + R (0.5, -9.5) = (4, 13)
    leaning = move_glyphs(glyphs, np.zeros(1, int), np.array([[1.0, 0, 0, 0, 0.4]]), 28, 1.0)[0]
    assert leaning[4].argmax() == 18  # 14 + 0.4 * 9.5 = 17.8


def test_the_grid_is_what_it_says(digits):
    assert digits.factor_sizes == (10, 100, 5, 9, 7, 7, 5)
    assert len(digits) == 11_025_000
    assert digits.shape == (28, 28, 1)
    index = np.array([0, 1_102_500, len(digits) - 1])
    assert digits.labels(index).tolist() == [0, 1, 9]
    assert (digits.labels(index) == digits.factors(index)[:, 0]).all()
    assert (np.bincount(digits.labels()) == 1_102_500).all()


def test_every_factor_shows(digits):
    base = np.array([[3, 7, 2, 4, 3, 3, 2]])
    still = digits.images(digits.space.index(base)).astype(int)
    for k in range(7):
        other = base.copy()
        other[0, k] = 0
        assert np.abs(digits.images(digits.space.index(other)) - still).max() > 50, digits.factor_names[k]


def test_images_do_not_depend_on_what_is_drawn_with_them(digits):
    index = np.random.default_rng(0).integers(len(digits), size=20)
    together = digits.images(index)
    assert (np.concatenate([digits.images([one]) for one in index]) == together).all()


def test_no_handwriting_is_in_both_sets(digits):
    other = data.load("affine-digits:source=digits8,glyphs=test")
    assert other.name == "affine-digits-test"
    assert other.factor_sizes[1] == 74  # digit 8 has 174 images, of which 100 are for training
    first = {glyph.tobytes() for glyph in digits._glyphs}
    assert not first & {glyph.tobytes() for glyph in other._glyphs}
    assert "digits8" in other.card.source


def test_splits_hold_out_ordered_factors_only(digits):
    for kind in ("composition", "interpolation", "extrapolation"):
        halves = data.split(digits, kind)
        assert not {"digit", "glyph"} & set(halves.rule.sets)
        assert halves.train.has_labels
        assert set(halves.train.labels(np.arange(0, len(halves.train), 9973))) <= set(range(10))
        assert len(halves.train) + len(halves.test) == len(digits)


@pytest.mark.parametrize("option", ["glyphs=valid", "source=usps"])
def test_an_unknown_word_is_refused_by_name(option):
    with pytest.raises(UsageError, match=option.partition("=")[0]):
        data.load(f"affine-digits:{option}")


def test_real_glyphs_come_from_the_files_of_mnist():
    if find_file("mnist/train-images-idx3-ubyte.gz") is None or find_file("mnist/t10k-images-idx3-ubyte.gz") is None:
        pytest.skip("MNIST is not at hand")
    real, mnist = data.load("affine-digits"), data.load("mnist")
    fives = mnist.images(np.flatnonzero(mnist.labels() == 5)[:100])
    assert (real._glyphs[500:600] == fives[..., 0]).all()
    assert "MNIST" in real.card.source
    assert data.load("affine-digits:glyphs=test").factor_sizes == real.factor_sizes

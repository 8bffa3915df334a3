"""The contact sheet of a data set."""

import numpy as np
import pytest
from PIL import Image

from unbraid import data
from unbraid.data.space import FactorSpace
from unbraid.errors import UsageError
from unbraid.report.sheet import contact_sheet, sweep


def grid(*shape: int) -> data.FactorDataset:
    """24 images whose brightness counts upwards along the grid 2 x 3 x 4."""
    images = np.ones((24, *shape), np.uint8) * np.arange(100, 124, dtype=np.uint8).reshape(-1, *[1] * len(shape))
    factors = [[a, b, c] for a in range(2) for b in range(3) for c in range(4)]
    return data.from_arrays(images, factors, names=["a", "b", "c"])


def test_a_sweep_moves_one_factor_and_holds_the_others_in_the_middle():
    space = FactorSpace(("a", "b"), (3, 40), ("ordinal", "periodic"))
    # 12 of 40 values evenly from 0 to 39: steps of 39/11 = 3.55, rounded.
    assert sweep(space, 1, 12)[:, 1].tolist() == [0, 4, 7, 11, 14, 18, 21, 25, 28, 32, 35, 39]
    assert set(sweep(space, 1, 12)[:, 0]) == {1}
    assert sweep(space, 0, 12).tolist() == [[0, 20], [1, 20], [2, 20]]


def test_the_sheet_shows_the_images_of_the_sweeps_pixel_by_pixel(tmp_path):
    pixels = np.asarray(Image.open(contact_sheet(grid(8, 8), tmp_path / "sheet.png", random_rows=1)))
    # Brightness 100 + 12 a + 4 b + c. Middles are a = 1, b = 1, c = 2: the sweep of c shows 116, 117, 118, 119, and
    # each tile is 8 pixels times 14 wide and high.
    for value in (116, 117, 118, 119):
        assert (pixels == value).all(axis=2).sum() >= (8 * 14) ** 2


@pytest.mark.parametrize("shape", [(8, 8), (64, 64, 3), (300, 200, 3), (5, 9, 1), (16, 16, 4)])
def test_any_image_size_gives_a_sheet_of_moderate_size(tmp_path, shape):
    with Image.open(contact_sheet(grid(*shape), tmp_path / "deep" / "sheet.png")) as picture:
        assert 700 < picture.width < 3200


def test_labelled_sets_have_a_row_per_class(tmp_path):
    images = np.repeat(np.array([50, 150], np.uint8), 5)[:, None, None] * np.ones((10, 8, 8), np.uint8)
    labelled = data.from_arrays(images, labels=["low"] * 5 + ["high"] * 5)
    pixels = np.asarray(Image.open(contact_sheet(labelled, tmp_path / "sheet.png", random_rows=1)))
    tile = (8 * 14) ** 2
    low, high = ((pixels == value).all(axis=2).sum() // tile for value in (50, 150))
    # Five of each class in its row, and twelve random ones.
    assert low + high == 5 + 5 + 12


def test_plain_images_and_random_backgrounds_work_too(tmp_path):
    contact_sheet(data.from_arrays(np.zeros((3, 8, 8), np.uint8)), tmp_path / "plain.png")
    contact_sheet(data.load("noisy-mini-sprites"), tmp_path / "noisy.png")
    assert (
        contact_sheet(data.load("noisy-mini-sprites"), tmp_path / "again.png").read_bytes()
        == (tmp_path / "noisy.png").read_bytes()
    )


def test_an_unwritable_place_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError, match=r"cannot write .*choose another place"):
        contact_sheet(grid(8, 8), tmp_path / "file" / "sheet.png")

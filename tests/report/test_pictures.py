"""Tiles, and the heat map of which code knows which factor."""

import numpy as np
import pytest
from PIL import Image

from unbraid.report.matrix import save_matrices
from unbraid.report.tiles import enlarge, labelled_rows


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((16, 16, 1), (64, 64, 3)), ((64, 64, 3), (64, 64, 3)), ((8, 16, 2), (32, 64, 3)), ((100, 40, 4), (100, 40, 3))],
)
def test_tiles_repeat_whole_pixels_up_to_the_wanted_side(shape, expected):
    # The factor is 64 over the longer side: 4, 1, 4, and never below 1.
    image = np.random.default_rng(0).integers(256, size=shape, dtype=np.uint8)
    tile = enlarge(image)
    assert tile.shape == expected
    factor = expected[0] // shape[0]
    kept = image[:, :, :3] if shape[2] >= 3 else image[:, :, [0, 0, 0]]
    assert (tile[::factor, ::factor] == kept).all()
    assert (tile[factor - 1 :: factor, factor - 1 :: factor] == kept).all()


def test_rows_have_room_for_letters_of_any_script():
    tiles = [[np.zeros((64, 64, 3), np.uint8)] * 3]
    narrow, wide = labelled_rows(tiles, ["z"]), labelled_rows(tiles, ["größe, μέγεθος"])
    assert wide.width > narrow.width


def test_low_rows_leave_room_for_label_and_note():
    tiles = [[np.zeros((20, 60, 3), np.uint8)]] * 3
    assert labelled_rows(tiles, ["a", "b", "c"], ["1", "2", "3"]).height >= 3 * 40
    high = [[np.zeros((64, 64, 3), np.uint8)]] * 3
    assert labelled_rows(high, ["a", "b", "c"], ["1", "2", "3"]).height == labelled_rows(high, ["a", "b", "c"]).height


def test_heat_maps_leave_the_plotting_backend_alone(tmp_path):
    import matplotlib

    before = matplotlib.get_backend(auto_select=False)
    save_matrices({"information": np.eye(3)}, ["a", "b", "c"], tmp_path / "a.png", np.array([1.0, 0.0, 2.0]))
    assert matplotlib.get_backend(auto_select=False) == before
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.width > 200

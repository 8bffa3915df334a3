"""The sub-commands of `unbraid data`."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unbraid import data
from unbraid.cli.data import data_get, data_list, data_show
from unbraid.errors import UsageError


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "root"))
    monkeypatch.chdir(tmp_path)


def test_list_names_every_data_set_with_its_factors_and_licence(capsys):
    data_list()
    table = capsys.readouterr().out
    for name in data.names():
        assert name in table
    assert "elevation 4, azimuth 24, object 183" in table
    assert "CC BY 4.0" in table


def test_list_as_json(capsys):
    data_list(json=True)
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) == set(data.names())
    assert rows["cars3d"]["factors"][2] == {"name": "object", "size": 183, "kind": "categorical"}
    assert (rows["cars3d"]["on_disk"], rows["cars3d"]["made_here"]) == (False, False)
    assert (rows["digits8"]["on_disk"], rows["digits8"]["made_here"]) == (True, True)


def test_show_prints_the_card_and_writes_a_sheet(capsys):
    data_show("mini-sprites")
    shown = capsys.readouterr().out
    assert "contact sheet: mini-sprites.png" in shown
    assert "categorical" in shown
    assert Path("mini-sprites.png").read_bytes()[:4] == b"\x89PNG"


def test_show_takes_a_part_of_the_grid_and_own_files(tmp_path, capsys):
    np.savez(tmp_path / "mine.npz", images=np.zeros((6, 8, 8)), factors=[[a, b] for a in range(2) for b in range(3)])
    data_show("./mine.npz:factor0=1", out=Path("here/sheet.png"), json=True)
    result = json.loads(capsys.readouterr().out)
    assert result["images"] == 3
    assert result["factors"] == [{"name": "factor1", "size": 3, "kind": "ordinal"}]
    assert Path(result["sheet"]).exists()


def test_show_without_the_files_says_how_to_get_them(capsys):
    data_show("shapes3d")
    captured = capsys.readouterr()
    assert "floor_hue" in captured.out
    assert "unbraid data get shapes3d" in captured.err
    data_show("shapes3d", json=True)
    assert json.loads(capsys.readouterr().out)["sheet"] is None


def test_show_of_an_unknown_name_suggests_the_nearest():
    with pytest.raises(UsageError, match="did you mean 'shapes3d'"):
        data_show("shape3d")


def test_compare_is_for_dsprites_and_needs_its_file(tmp_path):
    with pytest.raises(UsageError, match="is for dsprites"):
        data_show("mnist", compare=tmp_path)
    with pytest.raises(UsageError, match="no such file"):
        data_show("dsprites", compare=tmp_path / "gone.npz")


def test_compare_counts_what_differs(tmp_path, capsys):
    from unbraid.data.render.sprite_render import SPACE, render_sprites

    index = np.array([0, 5000, 700_000])
    bits = np.unpackbits(render_sprites(SPACE.factors(index)), axis=1).reshape(3, 64, 64)
    bits[1, 0, :2] ^= 1  # two wrong pixels in one image
    np.savez(tmp_path / "some.npz", my_images=bits, my_latents=SPACE.factors(index))
    data_show("dsprites", compare=tmp_path / "some.npz", json=True)
    result = json.loads(capsys.readouterr().out)
    assert (result["images"], result["differing_images"], result["differing_pixels"]) == (3, 1, 2)
    data_show("dsprites", compare=tmp_path / "some.npz")
    assert "3 images compared" in capsys.readouterr().out


def test_get_of_what_needs_no_download_makes_it_ready(capsys):
    data_get("digits8")
    assert "digits8 is ready; it needs no download" in capsys.readouterr().out
    with pytest.raises(UsageError, match="UNBRAID_DATA"):
        data_get("digits8", root=Path("elsewhere"))


def test_get_of_a_set_behind_a_form_says_what_to_do():
    with pytest.raises(UsageError, match=r"put it at:   .*img_align_celeba"):
        data_get("celeba")


def test_the_commands_import_neither_torch_nor_other_heavy_modules():
    heavy = ("torch", "scipy", "sklearn", "matplotlib", "numba", "h5py", "polars")
    code = f"import sys, unbraid.cli.data as c; c.data_list(); print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "[]"


def test_show_corruptions_writes_a_sheet_of_every_corruption(capsys):
    data_show("mini-sprites", corruptions=True)
    assert capsys.readouterr().out == "contact sheet: mini-sprites-corruptions.png\n"
    with Image.open("mini-sprites-corruptions.png") as picture:
        # 19 rows of five severities and 15 of one setting, at least a hundred pixels each.
        assert picture.height > 34 * 100
        assert picture.width > 6 * 100


def test_show_corruptions_of_images_that_are_too_small_says_so():
    with pytest.raises(UsageError, match="16 to 512 pixels high and wide, got 8 x 8"):
        data_show("digits8", corruptions=True)
    with pytest.raises(UsageError, match="--corruptions shows images; give it without --split"):
        data_show("mini-sprites", corruptions=True, split="random")

"""Options written into names: wrong ones are told, in every registry that takes them."""

from pathlib import Path

import numpy as np
import pytest

from unbraid import nets
from unbraid.data import entry, from_arrays, load, make_stream, register
from unbraid.errors import UsageError
from unbraid.options import parse_name, parse_value


def test_words_that_look_like_numbers_only_to_python_stay_words():
    # float() would read the first three, slice() would take the last apart into four numbers.
    assert [parse_value(word) for word in ("nan", "inf", "infinity", "1:2:3:4")] == [
        "nan",
        "inf",
        "infinity",
        "1:2:3:4",
    ]
    assert parse_value("-3") == -3
    assert parse_value("1e+2") == 100.0
    assert parse_name("pairs:protocol=lap,rate=0.5") == ("pairs", {"protocol": "lap", "rate": 0.5})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mini-sprites:shape=abc", "shape='abc' must pick distinct values of 0..2"),
        ("mini-sprites:x=::0", "must pick distinct values"),
        ("mini-sprites:x=0:8:2:1", "must pick distinct values"),
        ("mini-sprites:x=0.5", "must pick distinct values"),
        ("mini-sprites:x", "cannot read 'x'"),
        ("mnist:split=3", "unknown split of 'mnist': '3'"),
        ("scream-mini-sprites:background=3", "option 'background' of data set 'scream-mini-sprites' must be"),
    ],
)
def test_a_wrong_option_of_a_data_set_is_told(name, words):
    with pytest.raises(UsageError, match=words):
        load(name)


@pytest.mark.parametrize("size", ["abc", "1+2+3", "0", "16+-1"])
def test_a_wrong_image_size_is_told(size, tmp_path):
    from PIL import Image

    Image.new("L", (8, 8)).save(tmp_path / "a.png")
    with pytest.raises(UsageError, match="size"):
        load(f"{tmp_path}:size={size}")


def test_a_file_of_another_kind_is_not_taken_for_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("images.npy", np.zeros((2, 8, 8)))
    with pytest.raises(UsageError, match=r"expected an \.npz file"):
        load("images.npy")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mlp:width=abc", "option 'width' of network 'mlp' must be int, got 'abc'"),
        ("mlp:encoder=abc", "option 'encoder'"),
        ("mlp:width=-1", "width must be at least 1"),
        ("mlp:wdth=3", "did you mean 'width'"),
        ("mlp:latents=3", "unknown option"),
    ],
)
def test_a_wrong_option_of_a_network_is_told(name, words):
    with pytest.raises(UsageError, match=words):
        nets.build(name, (8, 8, 1), 2)


def test_a_wrong_option_of_a_stream_is_told(dots):
    with pytest.raises(UsageError, match="option 'labels' of stream 'few-labels' must be int, got 'many'"):
        make_stream("few-labels:labels=many", dots, 8, 0)


def test_a_data_set_is_found_however_its_name_is_spelled(dots):
    register("Test_Spelling")(lambda: dots)
    assert entry("Test_Spelling") is entry("test-spelling")


def test_a_data_set_without_a_name_has_the_one_it_is_registered_by():
    images = np.zeros((4, 8, 8), dtype=np.uint8)
    register("test-unnamed")(lambda: from_arrays(images, factors=np.arange(4)[:, None]))
    register("test-named")(lambda: from_arrays(images, name="zeros"))
    assert load("test-unnamed").name == load("test-unnamed:part=::2").base.name == "test-unnamed"
    assert load("test-named").name == "zeros"


def test_an_array_among_the_options_leaves_no_recipe_that_could_not_be_followed():
    picture = np.zeros((80, 80, 3), dtype=np.uint8)
    assert load("scream-mini-sprites", background=picture).recipe is None
    recipe = load("scream-mini-sprites", x=[0, 2]).recipe
    assert recipe is not None
    assert recipe.options == {"x": "0+2"}


def test_a_path_may_look_like_a_number(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="no file 12"):
        load("dsprites:source=12")
    assert not Path("12").exists()

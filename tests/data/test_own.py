"""Own data in one line: arrays, npz files, folders, and paths as names."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from unbraid import data
from unbraid.errors import UsageError


def pictures(count: int, *shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, *shape), dtype=np.uint8)


def test_images_alone_come_back_as_they_are_with_a_channel_axis():
    images = pictures(5, 8, 6)
    own = data.from_arrays(images)
    assert own.shape == (8, 6, 1)
    assert not isinstance(own, data.FactorDataset | data.LabelledDataset)
    np.testing.assert_array_equal(own.images([4, 0, 4]), images[[4, 0, 4], :, :, None])


def test_floats_in_the_unit_interval_round_to_the_nearest_byte():
    # 0.5 * 255 = 127.5, and numpy rounds halves to the even neighbour.
    own = data.from_arrays(np.full((1, 2, 2), 0.5) + np.array([[0.5, -0.5], [0.1, 0.0]]))
    assert own.images([0]).ravel().tolist() == [255, 0, 153, 128]


@pytest.mark.parametrize("kind", [np.bool_, np.uint8, np.int64])
def test_bits_are_black_and_white(kind):
    bits = np.array([[[0, 1], [1, 1]]]).astype(kind)
    assert data.from_arrays(bits).images([0]).ravel().tolist() == [0, 255, 255, 255]


@given(st.permutations(range(24)))
@settings(max_examples=20, deadline=None)
def test_a_grid_in_any_order_is_put_in_order(order):
    table = np.array(list(product((0.5, 2.5), (3, 5, 7), (-1, 0, 4, 9))))
    images = np.arange(24, dtype=np.uint8)[:, None, None] * np.ones((24, 2, 2), np.uint8)
    own = data.from_arrays(images[order], factors=table[order], names=["a", "b", "c"])
    assert own.space.sizes == (2, 3, 4)
    # In grid order image i is the one that was written with brightness i.
    np.testing.assert_array_equal(own.images(np.arange(24))[:, 0, 0, 0], np.arange(24))


def test_numbers_sort_as_numbers_and_text_is_categorical():
    rows = [[size, shape] for shape in ("star", "disc") for size in (9, 10)]
    images = np.arange(4, dtype=np.uint8)[:, None, None] + np.full((4, 2, 2), 10, np.uint8)
    own = data.from_arrays(images, factors=rows, names=["size", "shape"])
    assert own.space.kinds == ("ordinal", "categorical")
    # (9, disc), (9, star), (10, disc), (10, star): sorted values, the last factor fastest.
    assert own.images(range(4))[:, 0, 0, 0].tolist() == [12, 10, 13, 11]


def test_a_mapping_names_its_columns_and_a_constant_column_is_left_out():
    own = data.from_arrays(pictures(4, 2, 2), factors={"x": [0, 0, 1, 1], "colour": [7] * 4, "y": [0, 1, 0, 1]})
    assert own.space.names == ("x", "y")


def test_an_incomplete_grid_is_a_table():
    own = data.from_arrays(pictures(3, 2, 2), factors=[[1, 10], [1, 20], [2, 10]], names=["a", "b"])
    assert own.space is None
    assert (own.factor_names, own.factor_sizes, own.factor_kinds) == (("a", "b"), (2, 2), ("ordinal", "ordinal"))
    assert own.factors([1, 2]).tolist() == [[0, 1], [1, 0]]
    assert own.factors([0]).dtype == np.int64


def test_repeated_rows_are_a_table():
    rows = [[1, 10], [1, 20], [2, 10], [2, 20], [1, 20]]
    own = data.from_arrays(pictures(5, 2, 2), factors=rows, names=["a", "b"])
    assert own.space is None
    assert own.factors([1, 4]).tolist() == [[0, 1], [0, 1]]
    assert np.array_equal(own.part([4]).factors([0]), own.factors([4]))


def test_measured_columns_stay_what_they_are_even_when_their_grid_is_astronomical():
    # 300 distinct values in each of 9 columns: 300**9 = 2e22 points, more than 64 bits count.
    table = np.random.default_rng(0).random((300, 9))
    own = data.from_arrays(pictures(300, 2, 2), factors=table)
    assert own.factor_sizes is None
    assert np.array_equal(own.factors(np.arange(300)), table)


def test_a_single_measured_column_is_no_grid_of_as_many_values():
    own = data.from_arrays(pictures(4, 2, 2), factors=[[0.3], [0.1], [0.9], [0.4]])
    assert own.space is None
    assert own.factors([0, 1]).tolist() == [[0.3], [0.1]]


def test_classes_beside_a_table_are_a_further_column_unless_one_says_the_same():
    rows = [[0, 5], [0, 6], [1, 5], [1, 5]]
    own = data.from_arrays(pictures(4, 2, 2), rows, labels=["x", "y", "y", "x"], names=["a", "b"])
    assert own.factor_names == ("a", "b", "class")
    assert own.factor_kinds[-1] == "categorical"
    assert own.factors([0, 1])[:, 2].tolist() == [0, 1]
    assert (own.classes, own.labels([2]).tolist()) == (("x", "y"), [1])
    same = data.from_arrays(pictures(4, 2, 2), rows, labels=["z", "z", "x", "x"], names=["a", "b"])
    assert same.factor_names == ("a", "b")


def test_classes_on_a_full_grid_follow_its_order():
    own = data.from_arrays(pictures(2, 2, 2), factors=[[1], [0]], labels=["one", "zero"])
    assert own.space is not None
    assert [own.classes[k] for k in own.labels()] == ["zero", "one"]


@pytest.mark.parametrize(
    ("images", "options", "message"),
    [
        (np.full((2, 2, 2), np.nan), {}, "NaN, first in image 0"),
        (np.full((2, 2, 2), 255.0), {}, "astype"),
        (np.full((2, 2, 2), -0.1), {}, r"\[0, 1\]"),
        (np.full((2, 2, 2), 256), {}, "0..255"),
        (np.array([[["a"]]]), {}, "got <U1"),
        (np.empty((2, 2, 2), dtype=object), {}, "got object"),
        (np.zeros((2, 2)), {}, r"\(2, 2\)"),
        (np.zeros((0, 2, 2)), {}, "at least one image"),
        (np.zeros((2, 3, 8, 8), np.uint8), {}, "channels last"),
        (pictures(2, 2, 2), {"factors": [[0], [1], [2]]}, r"factors must be \[2, K\]"),
        (pictures(2, 2, 2), {"factors": [[0], ["a"]]}, "mixes types"),
        (pictures(2, 2, 2), {"factors": [[0.0], [np.nan]]}, "NaN, first in row 1"),
        (pictures(2, 2, 2), {"factors": [[0], [0]]}, "no column of factors varies"),
        (pictures(2, 2, 2), {"factors": [[0], [1]], "names": ["a", "b"]}, "names has 2 entries"),
        (pictures(2, 2, 2), {"factors": [[0], [1]], "kinds": ["round"]}, "unknown kind of factor 'round'"),
        (pictures(2, 2, 2), {"factors": [[0.5], [np.inf]]}, "contains infinity, first in row 1"),
        (pictures(2, 2, 2), {"labels": [0, 1, 2]}, r"labels must be \[2\]"),
        (pictures(2, 2, 2), {"names": ["a"]}, "describe factors"),
        (pictures(2, 2, 2), {"labels": [0, 5], "classes": ["a", "b"]}, "names 2 classes"),
    ],
)
def test_wrong_input_is_named(images, options, message):
    with pytest.raises(UsageError, match=message):
        data.from_arrays(images, **options)


def test_labels_may_be_any_numbers_or_text():
    own = data.from_arrays(pictures(4, 2, 2), labels=["dog", "cat", "dog", "cow"])
    assert own.classes == ("cat", "cow", "dog")
    assert own.labels().tolist() == [2, 0, 2, 1]
    named = data.from_arrays(pictures(3, 2, 2), labels=[0, 2, 0], classes=["a", "b", "c"])
    assert named.labels().tolist() == [0, 2, 0]
    assert named.classes == ("a", "b", "c")


def write_sprites(path: Path, *, compress: bool) -> np.ndarray:
    """A small archive in dSprites' format: bits as bytes 0 and 1, a constant colour column, classes and values."""
    bits = np.random.default_rng(1).integers(0, 2, (6, 8, 8), dtype=np.uint8)
    classes = np.array([[0, x, y] for x in range(2) for y in range(3)])
    save = np.savez_compressed if compress else np.savez
    save(path, imgs=bits, latents_classes=classes, latents_values=classes * 0.5)
    return bits


@pytest.mark.parametrize("compress", [True, False])
def test_an_npz_in_the_format_of_dsprites(tmp_path, compress):
    bits = write_sprites(tmp_path / "mine.npz", compress=compress)
    own = data.from_npz(tmp_path / "mine.npz", names="colour+x+y")
    assert own.space.names == ("x", "y")
    assert own.name == "mine"
    np.testing.assert_array_equal(own.images(range(6))[..., 0], bits * 255)


def test_uncompressed_images_stay_on_disk(tmp_path):
    images = pictures(600, 48, 48)
    np.savez(tmp_path / "large.npz", note=np.arange(3), images=images, labels=np.arange(600) % 7)
    own = data.from_npz(tmp_path / "large.npz")
    assert isinstance(own.held._pixels.base, np.memmap)
    np.testing.assert_array_equal(own.images([599, 3])[..., 0], images[[599, 3]])


def test_large_compressed_images_are_unpacked_once(tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "root"))
    monkeypatch.setattr("unbraid.data.own.is_large", lambda *_: True)
    images = pictures(50, 8, 8, 3)
    np.savez_compressed(tmp_path / "big.npz", images=images)
    for _ in range(2):
        own = data.from_npz(tmp_path / "big.npz")
        np.testing.assert_array_equal(own.images(range(50)), images)
    assert len(list((tmp_path / "root" / "own" / "big").glob("converted-*/images-v1.npy"))) == 1


def test_an_npz_is_never_unpickled(tmp_path):
    np.savez(tmp_path / "evil.npz", images=np.array([{"a": 1}], dtype=object))
    with pytest.raises(UsageError, match="Python objects"):
        data.from_npz(tmp_path / "evil.npz")


def test_a_pickled_extra_array_does_no_harm(tmp_path):
    np.savez(tmp_path / "extra.npz", imgs=pictures(2, 2, 2), metadata=np.array({"a": 1}, dtype=object))
    assert len(data.from_npz(tmp_path / "extra.npz")) == 2


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_cut_npz_is_called_damaged(tmp_path, keep, save):
    path = tmp_path / "cut.npz"
    save(path, images=pictures(200, 16, 16))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * keep)])
    with pytest.raises(UsageError, match=r"cut\.npz"):
        data.from_npz(path)


def test_an_npz_without_images_says_what_it_holds(tmp_path):
    np.savez(tmp_path / "odd.npz", pixels=pictures(2, 2, 2))
    with pytest.raises(UsageError, match=r"'imgs' or 'images', only: pixels"):
        data.from_npz(tmp_path / "odd.npz")


def save_picture(path: Path, array: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(array).save(path)


def test_a_flat_folder_in_the_order_of_names(tmp_path):
    images = pictures(3, 6, 5, 3)
    for name, image in zip(("c.png", "a.png", "b.bmp"), images, strict=True):
        save_picture(tmp_path / name, image)
    (tmp_path / "notes.txt").write_text("not an image")
    own = data.from_folder(tmp_path)
    assert own.shape == (6, 5, 3)
    np.testing.assert_array_equal(own.images([0, 1, 2]), images[[1, 2, 0]])


def test_sub_folders_are_classes(tmp_path):
    images = pictures(3, 4, 4)
    for name, image in zip(("dog/1.png", "cat/1.png", "dog/0.png"), images, strict=True):
        save_picture(tmp_path / name, image)
    own = data.from_folder(tmp_path)
    assert own.classes == ("cat", "dog")
    assert own.labels().tolist() == [0, 1, 1]
    np.testing.assert_array_equal(own.images([0, 1, 2])[..., 0], images[[1, 2, 0]])


def test_mixed_sizes_need_size(tmp_path):
    save_picture(tmp_path / "a.png", pictures(1, 6, 5)[0])
    save_picture(tmp_path / "b.png", pictures(1, 8, 8)[0])
    with pytest.raises(UsageError, match=r"1 of 5x6, 1 of 8x8.*size=64"):
        data.from_folder(tmp_path)
    assert data.from_folder(tmp_path, size=4).shape == (4, 4, 1)
    assert data.from_folder(tmp_path, size=(4, 6), channels=3).shape == (4, 6, 3)


def test_resizing_crops_the_middle_instead_of_squeezing(tmp_path):
    # 4 x 12: only the middle 4 x 4 is white, so the square cut out of it is all white.
    image = np.zeros((4, 12), np.uint8)
    image[:, 4:8] = 255
    save_picture(tmp_path / "wide.png", image)
    assert (data.from_folder(tmp_path, size=2).images([0]) == 255).all()


def test_transparency_is_laid_over_white_or_black(tmp_path):
    save_picture(tmp_path / "clear.png", np.array([[[9, 9, 9, 0], [200, 100, 50, 255]]], np.uint8))
    assert data.from_folder(tmp_path).images([0])[0, 0].tolist() == [[255, 255, 255], [200, 100, 50]]
    assert data.load(f"{tmp_path}:background=black").images([0])[0, 0].tolist() == [[0, 0, 0], [200, 100, 50]]
    with pytest.raises(UsageError, match="background must be white or black, got 'red'"):
        data.from_folder(tmp_path, background="red")


def test_sixteen_bit_grey_keeps_its_high_byte(tmp_path):
    save_picture(tmp_path / "deep.png", np.array([[0, 0x1234], [0xFFFF, 0x80FF]], np.uint16))
    assert data.from_folder(tmp_path).images([0]).ravel().tolist() == [0, 0x12, 0xFF, 0x80]


def test_one_grey_file_among_colours_becomes_rgb(tmp_path):
    save_picture(tmp_path / "a.png", np.full((2, 2), 7, np.uint8))
    save_picture(tmp_path / "b.png", pictures(1, 2, 2, 3)[0])
    assert data.from_folder(tmp_path).images([0])[0, 0, 0].tolist() == [7, 7, 7]


def test_a_broken_image_is_named(tmp_path):
    save_picture(tmp_path / "good.png", pictures(1, 64, 64)[0])
    (tmp_path / "half.png").write_bytes((tmp_path / "good.png").read_bytes()[:2000])
    with pytest.raises(UsageError, match=r"half\.png"):
        data.from_folder(tmp_path)
    (tmp_path / "half.png").write_text("no image at all")
    with pytest.raises(UsageError, match=r"half\.png"):
        data.from_folder(tmp_path)


def test_an_empty_folder_says_so(tmp_path):
    with pytest.raises(UsageError, match="holds no images"):
        data.from_folder(tmp_path)


def test_a_large_folder_goes_through_a_store(tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "root"))
    monkeypatch.setattr("unbraid.data.files.folder._IN_MEMORY", 100)
    images = pictures(20, 4, 4)
    for k, image in enumerate(images):
        save_picture(tmp_path / "many" / f"{k:02}.png", image)
    np.testing.assert_array_equal(data.from_folder(tmp_path / "many").images(range(20))[..., 0], images)
    save_picture(tmp_path / "many" / "00.png", images[1])
    changed = data.from_folder(tmp_path / "many")
    np.testing.assert_array_equal(changed.images([0])[0, ..., 0], images[1])


def test_a_path_is_a_name_and_its_recipe_loads_it_again(tmp_path, monkeypatch):
    write_sprites(tmp_path / "mine.npz", compress=False)
    monkeypatch.chdir(tmp_path)
    own = data.load("mine.npz:names=colour+x+y,x=1")
    assert own.space.names == ("y",)
    monkeypatch.chdir("/")
    again = data.load(own.recipe.name, **own.recipe.options)
    np.testing.assert_array_equal(again.images([0, 1, 2]), own.images([0, 1, 2]))


def test_a_folder_is_a_name_with_options(tmp_path):
    save_picture(tmp_path / "a.png", pictures(1, 6, 5)[0])
    own = data.load(f"{tmp_path}:size=4")
    assert own.shape == (4, 4, 1)
    assert own.recipe.options == {"size": 4}


def test_a_path_may_hold_a_colon(tmp_path):
    (tmp_path / "a:b").mkdir()
    write_sprites(tmp_path / "a:b" / "mine.npz", compress=False)
    assert len(data.load(str(tmp_path / "a:b" / "mine.npz"))) == 6


def test_wrong_paths_and_options_are_named(tmp_path):
    with pytest.raises(UsageError, match=r"no file or folder .*gone\.npz"):
        data.load(str(tmp_path / "gone.npz"))
    (tmp_path / "a.csv").write_text("1,2")
    with pytest.raises(UsageError, match=r"a\.csv: expected an \.npz file or a folder"):
        data.load(str(tmp_path / "a.csv"))
    write_sprites(tmp_path / "mine.npz", compress=False)
    with pytest.raises(UsageError, match=r"unknown option of .*'sice'"):
        data.load(f"{tmp_path / 'mine.npz'}:sice=4")


def test_a_registered_name_wins_over_a_folder_of_that_name(tmp_path, monkeypatch):
    (tmp_path / "digits8").mkdir()
    monkeypatch.chdir(tmp_path)
    assert len(data.load("digits8")) == 1797

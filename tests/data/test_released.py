"""The released sides of splits, read from files in their true format."""

import numpy as np
import pytest

from unbraid.data import FactorDataset, FactorSpace, entry, load, make_stream, split
from unbraid.data.sets.released import SPACES
from unbraid.errors import UsageError


class Blank(FactorDataset):
    """The grid of dSprites, without its images."""

    name, shape, space = "blank", (8, 8, 1), entry("dsprites").space

    def images(self, index, rng=None):
        return np.zeros((len(index), *self.shape), np.uint8)


@pytest.fixture(autouse=True)
def _own_root(tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "root"))


def cells_of(grid, kind, side, count, seed=0):
    """Some cells of a side, in no order, by the rule alone."""
    space = entry(grid).space
    every = np.random.default_rng(seed).choice(len(space), 40 * count, replace=False)
    factors = space.factors(every)
    top = {"dsprites": {1: 4, 2: 32, 3: 25, 4: 25}, "rooms3d": {0: 8, 1: 8, 2: 8, 3: 6, 5: 12}}[grid]
    outside = np.any([factors[:, k] >= least for k, least in top.items()], axis=0)
    assert kind == "extrapolation"
    return factors[outside if side == "test" else ~outside][:count]


def write(folder, name, factors, images, save=np.savez):
    folder.mkdir(exist_ok=True)
    save(folder / f"{name}_images.npz", images)
    save(folder / f"{name}_labels.npz", factors)
    return folder / f"{name}_images.npz"


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("side", ["train", "test"])
def test_black_and_white_sides(tmp_path, side, save):
    factors = cells_of("dsprites", "extrapolation", side, 50)
    images = np.random.default_rng(0).integers(0, 2, (50, 1, 64, 64), dtype=np.uint8)
    path = write(tmp_path / "files", f"dsprites_extrapolation_{side}", factors, images, save)
    data = load(str(path))
    index = np.arange(50)
    assert (len(data), data.shape, data.factor_sizes) == (50, (64, 64, 1), (3, 6, 40, 32, 32))
    np.testing.assert_array_equal(data.factors(index), factors)
    np.testing.assert_array_equal(data.images(index), 255 * images.transpose(0, 2, 3, 1))
    assert data.side == split(Blank(), "extrapolation").side(side).side


def test_colours_come_last(tmp_path):
    factors = cells_of("rooms3d", "extrapolation", "train", 30)
    images = np.random.default_rng(0).integers(0, 256, (30, 3, 64, 64), dtype=np.uint8)
    data = load(str(write(tmp_path / "files", "shapes3d_extrapolation_train", factors, images)))
    np.testing.assert_array_equal(data.images([7]), images[7:8].transpose(0, 2, 3, 1))
    batch = make_stream("images", data, 8, 0)(0)
    assert batch.images.shape[0] == 8
    assert load(data.recipe.name).side == data.side


def test_the_released_random_split_is_known_by_its_cells(tmp_path, monkeypatch):
    whole = entry("dsprites").space
    space = FactorSpace(whole.names, (3, 6, 4, 5, 5), whole.kinds)  # small enough to write the rest of it
    monkeypatch.setitem(SPACES, "dsprites", space)
    factors = space.factors(np.random.default_rng(0).choice(len(space), 20, replace=False))
    images = np.zeros((20, 1, 64, 64), np.uint8)
    train = load(str(write(tmp_path / "a", "dsprites_random_train", factors, images)))
    again = load(str(write(tmp_path / "b", "dsprites_random_train", factors[::-1], images)))
    other = load(str(write(tmp_path / "c", "dsprites_random_train", factors[1:], images[1:])))
    assert train.side.hash == again.side.hash != other.side.hash
    rest = space.factors(np.setdiff1d(np.arange(len(space)), space.index(factors)))
    test = load(str(write(tmp_path / "d", "dsprites_random_test", rest, np.zeros((len(rest), 1, 8, 8), np.uint8))))
    assert test.side.hash == train.side.hash


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda factors, images: (factors[:, :4], images), r"expected integers \[n, 5\] \(shape, scale"),
        (lambda factors, images: (factors.astype(float), images), "expected integers"),
        (lambda factors, images: (factors[:9], images), r"expected uint8 \[9, channels"),
        (lambda factors, images: (factors, images[:, 0]), "channels, height, width"),
        (lambda factors, images: (factors + 40, images), "labels.npz: factor 'shape' takes"),
        (lambda factors, images: (np.repeat(factors[:1], 10, 0), images), "same factors"),
        (
            lambda _, images: (cells_of("dsprites", "extrapolation", "test", 10), images),
            "row 0 .* is not of the train side",
        ),
    ],
)
def test_files_that_are_something_else_are_refused(tmp_path, change, message):
    factors = cells_of("dsprites", "extrapolation", "train", 10)
    factors, images = change(factors, np.zeros((10, 1, 64, 64), np.uint8))
    path = write(tmp_path / "files", "dsprites_extrapolation_train", factors, images)
    with pytest.raises(UsageError, match=message):
        load(str(path))


def test_a_missing_half_is_named(tmp_path):
    factors = cells_of("dsprites", "extrapolation", "train", 3)
    path = write(tmp_path / "files", "dsprites_extrapolation_train", factors, np.zeros((3, 1, 64, 64), np.uint8))
    path.with_name(path.name.replace("images", "labels")).unlink()
    with pytest.raises(UsageError, match=r"train_labels\.npz is missing"):
        load(str(path))

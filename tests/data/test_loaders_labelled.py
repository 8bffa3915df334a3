"""MNIST and its relatives: the real files where the data root has them, and small files in the true format."""

import bz2
import gzip
import hashlib

import numpy as np
import pytest

from unbraid import data
from unbraid.data.files.catalogue import source
from unbraid.data.files.idx import read_idx
from unbraid.data.files.root import find_file
from unbraid.data.sets.usps import read_libsvm
from unbraid.errors import UsageError


def need(*candidates: str) -> None:
    if find_file(*candidates) is None:
        pytest.skip(f"{candidates[0]} is under no data root (UNBRAID_DATA)")


def idx(array: np.ndarray) -> bytes:
    return bytes((0, 0, 8, array.ndim)) + np.array(array.shape, ">i4").tobytes() + array.astype(np.uint8).tobytes()


@pytest.mark.parametrize(("split", "count", "mean"), [("train", 60_000, 0.1307), ("test", 10_000, 0.1325)])
def test_real_mnist(split, count, mean):
    prefix = "train" if split == "train" else "t10k"
    need(f"mnist/{prefix}-images-idx3-ubyte.gz", f"MNIST/raw/{prefix}-images-idx3-ubyte")
    digits = data.load("mnist", split=split)
    images = digits.images(np.arange(count))
    # 0.1307 is the mean everyone normalises the training images by.
    assert images.mean() / 255 == pytest.approx(mean, abs=5e-5)
    assert images.shape == (count, 28, 28, 1)
    assert digits.labels()[:5].tolist() == ([5, 0, 4, 1, 9] if split == "train" else [7, 2, 1, 0, 4])


def test_real_mnist_is_the_published_one():
    need("mnist/train-images-idx3-ubyte.gz")
    with gzip.open(find_file("mnist/train-images-idx3-ubyte.gz")) as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    assert digest == source("mnist").files[0].sha256


def test_real_fashion_mnist():
    need("fashion_mnist/train-images-idx3-ubyte.gz")
    clothes = data.load("fashion_mnist")
    assert clothes.classes[clothes.labels()[0]] == "ankle boot"
    assert np.bincount(clothes.labels()).tolist() == [6000] * 10
    # 0.2860 is the published mean of the training images.
    assert clothes.images(np.arange(60_000)).mean() / 255 == pytest.approx(0.2860, abs=5e-5)


def test_real_kmnist_test_images():
    need("kmnist_test/kmnist-test-imgs.npz", "kmnist/t10k-images-idx3-ubyte.gz", "kmnist/kmnist-test-imgs.npz")
    characters = data.load("kmnist:split=test")
    assert len(characters) == 10_000
    assert np.bincount(characters.labels()).tolist() == [1000] * 10


def test_real_usps():
    need("usps/usps_16x16.npz", "usps/usps.bz2")
    train, test = data.load("usps"), data.load("usps", split="test")
    assert np.bincount(train.labels()).tolist() == [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644]
    assert (len(train), len(test), train.shape) == (7291, 2007, (16, 16, 1))
    assert train.images(np.arange(100)).max() == 255


def test_digits8_are_always_there():
    digits = data.load("digits8")
    assert (len(digits), digits.shape) == (1797, (8, 8, 1))
    images = digits.images(np.arange(1797))
    # 17 levels 0..16, spread over 0..255.
    assert sorted(set(images.ravel().tolist())) == [round(k * 255 / 16) for k in range(17)]


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A data root with five MNIST digits, plain, and three KMNIST characters as npz."""
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path))
    images = np.random.default_rng(0).integers(0, 256, (5, 28, 28), dtype=np.uint8)
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "train-images-idx3-ubyte").write_bytes(idx(images))
    (tmp_path / "mnist" / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.arange(5))))
    (tmp_path / "kmnist").mkdir()
    np.savez_compressed(tmp_path / "kmnist" / "kmnist-train-imgs.npz", images[:3])
    np.savez_compressed(tmp_path / "kmnist" / "kmnist-train-labels.npz", np.array([2, 0, 9]))
    return images


def test_plain_and_gzipped_files_are_found(small):
    digits = data.load("mnist")
    np.testing.assert_array_equal(digits.images(range(5))[..., 0], small)
    assert digits.labels().tolist() == [0, 1, 2, 3, 4]


def test_kmnist_as_npz(small):
    characters = data.load("kmnist")
    np.testing.assert_array_equal(characters.images(range(3))[..., 0], small[:3])
    assert [characters.classes[k] for k in characters.labels()] == ["su", "o", "wo"]


@pytest.mark.usefixtures("small")
def test_a_missing_split_names_its_file_and_the_command():
    with pytest.raises(UsageError, match=r"mnist/t10k-images-idx3-ubyte\.gz(.|\n)*unbraid data get mnist"):
        data.load("mnist", split="test")
    with pytest.raises(UsageError, match="did you mean 'test'"):
        data.load("mnist", split="tests")


def test_more_labels_than_images_are_refused(small, tmp_path):
    (tmp_path / "mnist" / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.arange(6))))
    assert len(small) == 5
    with pytest.raises(UsageError, match="5 images but 6 labels"):
        data.load("mnist")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no idx file"),
        (b"<html>not found</html>", "no idx file of bytes with 3 dimensions: it begins with 3c 68 74 6d"),
        (idx(np.zeros((2, 3, 4)))[:-1], "promises 2 x 3 x 4 bytes but holds 23"),
        (idx(np.zeros((2, 3))), "no idx file"),
        (gzip.compress(idx(np.zeros((2, 3, 4))))[:-9], "cannot be read"),
    ],
    ids=["empty", "page", "short", "flat", "gzip"],
)
def test_a_damaged_idx_file_is_named(tmp_path, content, message):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UsageError, match=message):
        read_idx(tmp_path / "file", 3)


def test_usps_in_the_libsvm_format(tmp_path):
    # Pixels -1..1 become 0..1; class d + 1 is the digit d; an omitted pixel is 0, grey in the middle.
    lines = "10 1:-1 2:1 256:0.5\n1 " + " ".join(f"{k}:-1" for k in range(1, 257)) + "\n"
    (tmp_path / "usps.bz2").write_bytes(bz2.compress(lines.encode()))
    images, labels = read_libsvm(tmp_path / "usps.bz2")
    assert labels.tolist() == [9, 0]
    assert images[0].ravel()[[0, 1, 2, 255]].tolist() == [0.0, 1.0, 0.5, 0.75]
    assert (images[1] == 0).all()
    (tmp_path / "usps.bz2").write_bytes(b"junk")
    with pytest.raises(UsageError, match=r"usps\.bz2 is no whole LIBSVM file"):
        read_libsvm(tmp_path / "usps.bz2")

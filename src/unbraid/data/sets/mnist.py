"""MNIST, Fashion-MNIST and Kuzushiji-MNIST: 60,000 and 10,000 grey images 28x28 in ten classes."""

from pathlib import Path

import numpy as np

from unbraid.data.arrays import ArrayLabels, HeldArray
from unbraid.data.files.catalogue import card, missing_file
from unbraid.data.files.idx import read_idx
from unbraid.data.files.npz import read_array
from unbraid.data.files.root import find_file
from unbraid.data.registry import register
from unbraid.errors import unknown_name

__all__ = ["check_split", "load_idx_set", "load_mnist", "mnist_files"]

_DIGITS = tuple("0123456789")
_CLOTHES = (
    "t-shirt",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)
_KUZUSHIJI = ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo")

_FOLDERS = {
    "mnist": ("mnist", "MNIST/raw"),
    "fashion-mnist": ("fashion_mnist", "FashionMNIST/raw"),
    "kmnist": ("kmnist", "KMNIST/raw", "kmnist_test"),
}
_PREFIX = {"train": "train", "test": "t10k"}


def check_split(name: str, split: str) -> str:
    """The split, if there is such a one."""
    if split not in _PREFIX:
        raise unknown_name(f"split of {name!r}:", split, _PREFIX)
    return split


def load_idx_set(name: str, classes: tuple[str, ...], split: str) -> ArrayLabels:
    """One of the sets by name; its files may lie gzipped or plain in any of the usual folders under a data root."""
    check_split(name, split)
    images, labels = (_read(name, split, what) for what in ("images", "labels"))
    return ArrayLabels(HeldArray(images), labels, classes, name=name, card=card(name))


def _read(name: str, split: str, what: str) -> np.ndarray:
    plain = f"{_PREFIX[split]}-{what}-idx{3 if what == 'images' else 1}-ubyte"
    path = find_file(*_candidates(name, split, what))
    if path is None:
        raise missing_file(name, f"{_FOLDERS[name][0]}/{plain}.gz")
    return read_array(path, "arr_0") if path.suffix == ".npz" else read_idx(path, 3 if what == "images" else 1)


def _candidates(name: str, split: str, what: str) -> list[str]:
    plain = f"{_PREFIX[split]}-{what}-idx{3 if what == 'images' else 1}-ubyte"
    files = [f"{plain}.gz", plain]
    if name == "kmnist":
        files.append(f"kmnist-{split}-{'imgs' if what == 'images' else 'labels'}.npz")
    return [str(Path(folder) / file) for folder in _FOLDERS[name] for file in files]


def mnist_files(split: str, what: str) -> list[str]:
    """Where the images or labels of MNIST may lie under a data root."""
    return _candidates("mnist", split, what)


def load_mnist(split: str = "train") -> ArrayLabels:
    """Handwritten digits (LeCun et al., 1998); ``split`` is ``train`` or ``test``."""
    return load_idx_set("mnist", _DIGITS, split)


def load_fashion_mnist(split: str = "train") -> ArrayLabels:
    """Pictures of clothes (Xiao et al., 2017); ``split`` is ``train`` or ``test``."""
    return load_idx_set("fashion-mnist", _CLOTHES, split)


def load_kmnist(split: str = "train") -> ArrayLabels:
    """Cursive Japanese characters (Clanuwat et al., 2018); ``split`` is ``train`` or ``test``."""
    return load_idx_set("kmnist", _KUZUSHIJI, split)


for _name, _load in (("mnist", load_mnist), ("fashion-mnist", load_fashion_mnist), ("kmnist", load_kmnist)):
    _files = _candidates(_name, "train", "images")
    register(_name, card=card(_name), images=60_000, size="28x28x1", files=tuple(_files))(_load)

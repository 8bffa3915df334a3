"""USPS: 7,291 and 2,007 handwritten digits 16x16 from envelopes (Hull, 1994)."""

from pathlib import Path

import numpy as np

from unbraid.data.arrays import ArrayLabels, HeldArray
from unbraid.data.files.catalogue import card, missing_file
from unbraid.data.files.npz import read_array
from unbraid.data.files.root import find_file
from unbraid.data.registry import register
from unbraid.data.sets.mnist import check_split
from unbraid.errors import UsageError

__all__ = ["load_usps", "read_libsvm"]

_ARRAYS = "usps/usps_16x16.npz"
_LIBSVM = {"train": ("usps/usps.bz2", "USPS/usps.bz2"), "test": ("usps/usps.t.bz2", "USPS/usps.t.bz2")}


@register("usps", card=card("usps"), images=7_291, size="16x16x1", files=(_ARRAYS, *_LIBSVM["train"]))
def load_usps(split: str = "train") -> ArrayLabels:
    """Digits from ``usps_16x16.npz`` (floats in [0, 1]) or the LIBSVM files; ``split`` is ``train`` or ``test``."""
    check_split("usps", split)
    arrays, libsvm = find_file(_ARRAYS), find_file(*_LIBSVM[split])
    if arrays:
        values, labels = read_array(arrays, f"x_{split}"), read_array(arrays, f"y_{split}")
    elif libsvm:
        values, labels = read_libsvm(libsvm)
    else:
        raise missing_file("usps", _LIBSVM[split][0])
    images = np.rint(values * 255).astype(np.uint8)
    return ArrayLabels(HeldArray(images), labels, tuple("0123456789"), name="usps", card=card("usps"))


def read_libsvm(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Images ``[n, 16, 16]`` in [0, 1] and digits; in the file pixels lie in [-1, 1] and the digit d is class d + 1."""
    from sklearn.datasets import load_svmlight_file

    try:
        rows, classes = load_svmlight_file(str(path), n_features=256)
    except (OSError, ValueError, EOFError) as error:
        raise UsageError(f"{path} is no whole LIBSVM file of USPS ({error}); get the file anew") from error
    return (rows.toarray().reshape(-1, 16, 16) + 1) / 2, classes.astype(np.int64) - 1

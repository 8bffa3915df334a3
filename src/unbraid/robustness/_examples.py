"""The images that a model is tested on, with what they show: drawn once, read in parts, the same for every model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.data import counter_rng
from unbraid.errors import UsageError
from unbraid.evaluation import class_names, draw_images, has_classes, true_classes

if TYPE_CHECKING:
    from unbraid.data import Dataset
    from unbraid.training import Run

__all__ = ["Data", "Examples"]

Data = "Dataset | tuple[np.ndarray, np.ndarray]"
"""A data set with classes, or images and their classes."""
HELD = 1 << 28
"""So many bytes of images are read once and kept; more are read whenever they are needed."""


class Examples:
    """Images uint8 ``[n, h, w, c]`` by position, and their classes."""

    def __init__(self, data: Any, images: int | None = None, seed: int = 0) -> None:
        """``data`` is a data set, or a pair of images and classes; at most ``images`` of it, drawn by ``seed``."""
        self.seed = seed
        if isinstance(data, tuple | list):
            self._pixels, self._labels = _checked_pair(data)
            self.data: Dataset | None = None
            self.name, self.shape = "own images", self._pixels.shape[1:]
            count = len(self._pixels)
            self.index = np.arange(count) if images is None or images >= count else _some(count, images, seed)
        else:
            if not hasattr(data, "images") or not hasattr(data, "shape"):
                raise UsageError(
                    f"data must be a data set with classes, or a pair of images and classes, got {type(data).__name__}"
                )
            data.need_pictures("a test of robustness")
            self.data, self.name, self.shape = data, data.name, tuple(data.shape)
            self.index = draw_images(data, len(data) if images is None else images, seed)
        self._held: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.index)

    def read(self, part: slice | np.ndarray) -> np.ndarray:
        """The images of a part of ``index``, not to be changed."""
        if self.data is None:
            return self._pixels[self.index[part]]
        if len(self.index) * int(np.prod(self.shape)) > HELD:
            return _read(self.data, self.index[part], self.seed)
        if self._held is None:
            self._held = _read(self.data, self.index, self.seed)
        return self._held[part]

    def labels(self, run: Run, factor: str = "") -> np.ndarray:
        """The classes that this model should name, int64 ``[n]``."""
        if self.data is None:
            return self._labels[self.index]
        if not has_classes(run, self.data, factor):
            known = f"it has the factors {', '.join(self.data.factor_names)}" if self.data.factor_names else ""
            raise UsageError(
                f"data set {self.name!r} has no classes that could be named{'; ' + known if known else ''}. "
                "Give a data set with classes, a run that was trained for the values of a factor, or factor=NAME"
            )
        return true_classes(run, self.data, self.index, factor)

    def classes(self, run: Run, count: int, factor: str = "") -> tuple[str, ...]:
        """What the classes are called."""
        return tuple(map(str, range(count))) if self.data is None else class_names(run, self.data, count, factor)


def _read(data: Dataset, index: np.ndarray, seed: int) -> np.ndarray:
    """Images at these positions; what a data set draws anew depends on the position, not on what is read with it."""
    if not data.stochastic:
        return data.images(index)
    return np.concatenate([data.images([place], counter_rng(seed, int(place) + 1)) for place in index])


def _some(count: int, images: int, seed: int) -> np.ndarray:
    if images < 1:
        raise UsageError(f"images must be at least 1, got {images}")
    return np.sort(counter_rng(seed, 0).choice(count, size=images, replace=False))


def _checked_pair(pair: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    if len(pair) != 2:
        raise UsageError(f"data must be a data set or a pair of images and classes, got {len(pair)} things")
    images = np.asarray(pair[0])
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] > 4:
        raise UsageError(
            f"images must be uint8 [n, height, width, channels], got {images.dtype} {list(images.shape)}; floats in "
            "[0, 1] become so by (images * 255).round().astype('uint8'), channels come last (numpy.moveaxis)"
        )
    return images, check_labels(pair[1], len(images))


def check_labels(labels: Any, count: int, name: str = "labels") -> np.ndarray:
    """Classes as int64 ``[n]``, one per image; ``name`` is what the argument is called."""
    found = np.asarray(labels)
    if found.shape != (count,) or found.dtype.kind not in "iu" or (count and found.min() < 0):
        raise UsageError(
            f"{name} must be {count} whole numbers from 0, one per image, got {found.dtype} {list(found.shape)}"
            + (f" from {found.min()}" if found.size and found.dtype.kind == "i" else "")
        )
    if not count:
        raise UsageError("images is empty")
    return found.astype(np.int64)

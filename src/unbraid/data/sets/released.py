"""The released sides of the published splits: pairs of npz files with the images and the factors of one side.

``dsprites_extrapolation_test_images.npz`` and ``..._labels.npz`` hold one array each, ``arr_0``: images uint8
``[n, c, h, w]`` and integer factors ``[n, K]`` (Schott et al., 2022; Zenodo records 4835774, 4898937 and 4899346).
"""

import hashlib
import re
from pathlib import Path
from typing import cast

import numpy as np

from unbraid.data.dataset import Card, Dataset, FactorDataset, Index
from unbraid.data.files.converted import converted
from unbraid.data.files.npz import array_header, read_array, stream_rows
from unbraid.data.files.store import ImageStore
from unbraid.data.part import Listed
from unbraid.data.render.sprite_render import SPACE as SPRITES
from unbraid.data.sets.mpi3d import SPACE as MPI3D
from unbraid.data.sets.shapes3d import SPACE as SHAPES3D
from unbraid.data.space import FactorSpace, check_index
from unbraid.data.splits.side import Side, SplitPart
from unbraid.data.splits.split import split
from unbraid.data.splits.value_sets import SplitKind
from unbraid.errors import UsageError

__all__ = ["from_released", "is_released"]

SPACES = {"dsprites": SPRITES, "shapes3d": SHAPES3D, "mpi3d": MPI3D}
_NAME = re.compile(
    rf"({'|'.join(SPACES)})_(random|composition|interpolation|extrapolation)_(train|test)_(images|labels)\.npz"
)
_KEY = "arr_0"


def is_released(path: Path) -> bool:
    """Whether a file is called as one of the released ones."""
    return _NAME.fullmatch(path.name) is not None


def from_released(path: Path) -> Dataset:
    """One side of a published split from the file of its images, with the file of its labels beside it.

    Runs trained on the same split of any data set with these factors can be judged on it, and the other way round. The
    file may hold some cells of the side only. Black and white images stored as 0 and 1 become 0 and 255.
    """
    found = _NAME.fullmatch(path.name)
    assert found is not None
    source, kind, name, _ = found.groups()
    space, images = SPACES[source], path.with_name(f"{source}_{kind}_{name}_images.npz")
    labels = images.with_name(images.name.replace("_images", "_labels"))
    for file in (images, labels):
        if not file.exists():
            raise UsageError(f"{file} is missing: images and labels of a released split lie beside each other")
    cells = _cells(labels, space)
    grid = _Grid(_store(images, len(cells), binary=source == "dsprites"), cells, space, source, images)
    halves = split(grid, cast(SplitKind, kind))
    side = halves.side(name)
    if kind == "random":
        return SplitPart(grid, Listed(cells), _random(grid, cells, name, side.side), None)
    wrong = side.indices.find(cells) < 0
    if wrong.any():
        row = int(wrong.argmax())
        raise UsageError(
            f"{labels}: row {row} ({space.factors(cells[row : row + 1])[0].tolist()}) is not of the {name} side of "
            f"{kind}; are the files called as they were released?"
        )
    return SplitPart(grid, Listed(cells), cast(Side, side.side), None) if len(cells) < len(side) else side


class _Grid(FactorDataset):
    """The whole grid, of which the file shows some cells."""

    def __init__(self, store: ImageStore, cells: np.ndarray, space: FactorSpace, name: str, path: Path) -> None:
        self.store, self.space, self.shape, self.name = store, space, store.shape, f"released-{name}"
        self.card = Card(path.name, source=str(path))
        self._rows = np.full(len(space), -1, dtype=np.int32)
        self._rows[cells] = np.arange(len(cells))

    def images(self, index: Index, rng: np.random.Generator | None = None) -> np.ndarray:
        rows = self._rows[check_index(index, len(self))]
        if (rows < 0).any():
            raise UsageError(f"{self.card.source} holds no image of cell {np.asarray(index)[rows < 0][0]} of the grid")
        return self.store.images(rows)


def _cells(path: Path, space: FactorSpace) -> np.ndarray:
    labels = read_array(path, _KEY)
    if labels.ndim != 2 or labels.shape[1] != len(space.names) or labels.dtype.kind not in "iu" or not len(labels):
        raise UsageError(
            f"{path}: {_KEY!r} is {labels.dtype} {labels.shape}, expected integers [n, {len(space.names)}] "
            f"({', '.join(space.names)})"
        )
    try:
        cells = space.index(labels)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    if len(np.unique(cells)) < len(cells):
        raise UsageError(f"{path}: two images have the same factors; every cell of a grid is one image")
    return cells


def _store(path: Path, count: int, *, binary: bool) -> ImageStore:
    shape, dtype = array_header(path, _KEY)
    if len(shape) != 4 or shape[0] != count or shape[1] not in (1, 3) or dtype != np.uint8:
        raise UsageError(
            f"{path}: {_KEY!r} is {dtype} {shape}, expected uint8 [{count}, channels, height, width], as many as labels"
        )
    with stream_rows(path, _KEY) as rows:

        def render(index: np.ndarray) -> np.ndarray:
            pixels = np.ascontiguousarray(rows(len(index)).transpose(0, 2, 3, 1))
            return np.where(pixels > 0, np.uint8(255), np.uint8(0)) if binary else pixels

        return converted(
            f"released/{path.stem}", [path], count=count, shape=(shape[2], shape[3], shape[1]), render=render
        )


def _random(grid: _Grid, cells: np.ndarray, name: str, ours: Side | None) -> Side:
    """The record of the released random split, known by its cells: it is none of those that follow from a seed."""
    assert ours is not None
    trained = cells if name == "train" else np.setdiff1d(np.arange(len(grid)), cells)
    digest = hashlib.sha256(np.sort(trained).astype("<i8").tobytes()).hexdigest()[:16]
    return Side("random", name, digest, ours.grid)

"""3D Shapes: an object in a room, six factors, 480,000 images (Burgess and Kim, 2018)."""

from math import prod
from pathlib import Path

import numpy as np

from unbraid.data.arrays import ArrayFactors
from unbraid.data.files.catalogue import card, missing_file
from unbraid.data.files.converted import converted
from unbraid.data.files.root import find_file
from unbraid.data.files.store import ImageStore
from unbraid.data.grid import read_table
from unbraid.data.published_grids import SHAPES3D
from unbraid.data.registry import register
from unbraid.data.space import FactorSpace
from unbraid.errors import UsageError
from unbraid.reading import open_hdf5

__all__ = ["SPACE", "convert_shapes3d", "load_shapes3d"]

SPACE = SHAPES3D
_FILE = "shapes3d/3dshapes.h5"
_CARD = card(
    "shapes3d", ("The first use unpacks 5.9 GB into the data root: batches out of the compressed file take seconds.",)
)


@register("shapes3d", card=_CARD, size="64x64x3", space=SPACE, files=(_FILE, "3dshapes.h5"))
def load_shapes3d(file: str | Path | None = None) -> ArrayFactors:
    """3D Shapes from ``3dshapes.h5``, found under the data root unless ``file`` says where."""
    path = Path(file) if file is not None else find_file(_FILE, "3dshapes.h5")
    if path is None:
        raise missing_file("shapes3d", _FILE)
    return ArrayFactors(convert_shapes3d(path), SPACE, name="shapes3d", card=_CARD)


def convert_shapes3d(path: Path, space: FactorSpace = SPACE) -> ImageStore:
    """The images of the HDF5 file (``images`` uint8, ``labels`` floats in grid order) as a store, made at first use."""
    remedy = "get it anew: unbraid data get shapes3d"
    with open_hdf5(path, ("images", "labels"), remedy) as (images, labels):
        if images.dtype != np.uint8 or images.ndim != 4 or images.shape[0] != len(space):
            raise UsageError(
                f"{path} is not 3D Shapes: images are {images.dtype} {images.shape}, "
                f"expected uint8 ({len(space)}, 64, 64, 3)"
            )
        height, width, channels = images.shape[1:]
        if read_table(labels[:], len(images), space.names, space.kinds).grid() != (space, None):
            raise UsageError(f"{path} is not 3D Shapes: its labels are not a grid of {space.sizes} values in order")
        return converted(
            "shapes3d",
            [path],
            count=len(space),
            shape=(height, width, channels),
            render=lambda index: images[index[0] : index[-1] + 1],
            chunk=_block(images.chunks, images.shape[1:]),
        )


def _block(chunks: tuple[int, ...] | None, shape: tuple[int, ...]) -> int:
    """How many images to read at once: whole HDF5 chunks, which may span thousands of images."""
    rows = chunks[0] if chunks else 1
    whole = rows * -(-4096 // rows)
    return min(whole, (1 << 29) // prod(shape))

"""MPI3D: a robot arm holding an object, seven factors (Gondal et al., 2019).

Three sets of 1,036,800 images show the same grid as a simple rendering (toy), a realistic one and photographs (real);
the fourth (complex) has 460,800 photographs of everyday objects in four shapes and colours.
"""

from functools import partial
from pathlib import Path

import numpy as np

from unbraid.data.arrays import ArrayFactors, Held, HeldArray
from unbraid.data.files.catalogue import card, missing_file
from unbraid.data.files.converted import converted
from unbraid.data.files.npz import array_header, is_large, read_array, stream_rows
from unbraid.data.files.root import find_file
from unbraid.data.published_grids import MPI3D
from unbraid.data.registry import register
from unbraid.data.space import FactorSpace
from unbraid.errors import UsageError

__all__ = ["COMPLEX_SPACE", "SPACE", "load_mpi3d", "open_mpi3d"]

SPACE = MPI3D
COMPLEX_SPACE = FactorSpace(SPACE.names, (4, 4, 2, 3, 3, 40, 40), SPACE.kinds)

_FILES = {
    "toy": ("mpi3d/mpi3d_toy.npz", "mpi3d_toy/mpi3d_toy.npz", "mpi3d_toy.npz"),
    "realistic": ("mpi3d/mpi3d_realistic.npz", "mpi3d_realistic/mpi3d_realistic.npz", "mpi3d_realistic.npz"),
    "real": ("mpi3d/mpi3d_real.npz", "mpi3d_real/mpi3d_real.npz", "mpi3d_real.npz"),
    "complex": ("mpi3d/real3d_complicated_shapes_ordered.npz", "real3d_complicated_shapes_ordered.npz"),
}


def _space(kind: str) -> FactorSpace:
    return COMPLEX_SPACE if kind == "complex" else SPACE


def load_mpi3d(kind: str, file: str | Path | None = None) -> ArrayFactors:
    """One of the four sets from its npz, found under the data root unless ``file`` says where."""
    name = f"mpi3d-{kind}"
    path = Path(file) if file is not None else find_file(*_FILES[kind])
    if path is None:
        raise missing_file(name, _FILES[kind][0])
    return ArrayFactors(open_mpi3d(path, _space(kind)), _space(kind), name=name, card=card(name))


def open_mpi3d(path: Path, space: FactorSpace) -> Held:
    """The array ``images`` in grid order: mapped if the archive holds it plain, else unpacked once."""
    shape, dtype = array_header(path, "images")
    if len(shape) != 4 or shape[0] != len(space) or dtype != np.uint8:
        raise UsageError(
            f"{path} is not this MPI3D set: images are {dtype} {shape}, expected uint8 ({len(space)}, 64, 64, 3)"
        )
    if not is_large(path, "images", limit=1 << 26):
        return HeldArray(read_array(path, "images"))
    with stream_rows(path, "images") as rows:
        return converted(
            "mpi3d",
            [path],
            count=len(space),
            shape=(shape[1], shape[2], shape[3]),
            render=lambda index: rows(len(index)),
        )


for _kind in _FILES:
    register(f"mpi3d-{_kind}", card=card(f"mpi3d-{_kind}"), size="64x64x3", space=_space(_kind), files=_FILES[_kind])(
        partial(load_mpi3d, _kind)
    )

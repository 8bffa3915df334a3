"""Cars3D: 183 car models from 24 sides and 4 heights (Reed et al., 2015)."""

import io
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import numpy as np

from unbraid.data.arrays import ArrayFactors
from unbraid.data.files.catalogue import card, missing_file
from unbraid.data.files.converted import converted
from unbraid.data.files.root import find_file
from unbraid.data.files.store import ImageStore
from unbraid.data.registry import register
from unbraid.data.space import FactorSpace
from unbraid.errors import UsageError
from unbraid.progress import Progress
from unbraid.reading import open_tar, read_bytes, understood

__all__ = ["SPACE", "convert_cars3d", "load_cars3d"]

SPACE = FactorSpace(("elevation", "azimuth", "object"), (4, 24, 183), ("ordinal", "periodic", "categorical"))
_LARGEST = 1 << 26
_ARCHIVE = "cars3d/nips2015-analogy-data.tar.gz"
_FOLDERS = ("cars3d/data/cars", "cars3d/cars", "cars")
_FILES = (_ARCHIVE, "nips2015-analogy-data.tar.gz", *_FOLDERS)
_SIDE = 64
_CARD = card(
    "cars3d",
    (
        "The number of a car is its place in the sorted list of files; code that follows the order of the directory "
        "numbers them differently on every machine.",
        "A car is a whole model: shape, colour and size change together.",
    ),
)


@register("cars3d", card=_CARD, size="64x64x3", space=SPACE, files=_FILES)
def load_cars3d(file: str | Path | None = None) -> ArrayFactors:
    """Cars3D from the published archive or its unpacked folder ``cars``, shrunk to 64x64."""
    path = Path(file) if file is not None else find_file(*_FILES)
    if path is None:
        raise missing_file("cars3d", _ARCHIVE)
    return ArrayFactors(convert_cars3d(path), SPACE, name="cars3d", card=_CARD)


def convert_cars3d(path: Path, space: FactorSpace = SPACE) -> ImageStore:
    """The store of all views ``[elevation, azimuth, car]``, made at first use from one .mat file per car."""
    sources = sorted(path.glob("*.mat")) if path.is_dir() else [path]
    if not sources or not path.exists():
        raise UsageError(f"no .mat files in {path}; expected the folder 'cars' of nips2015-analogy-data.tar.gz")
    views: np.ndarray | None = None

    def render(index: np.ndarray) -> np.ndarray:
        nonlocal views
        if views is None:
            views = _views(path, space).reshape(len(space), _SIDE, _SIDE, 3)
        return views[index]

    return converted("cars3d", sources, count=len(space), shape=(_SIDE, _SIDE, 3), render=render)


def _views(path: Path, space: FactorSpace) -> np.ndarray:
    elevations, azimuths, count = space.sizes
    cars: dict[str, np.ndarray] = {}
    with Progress("reading cars", count, unit="cars", brief=True) as progress:
        for name, data in _mat_files(path):
            cars[name] = _car(data, name, path, elevations, azimuths)
            progress.advance(1)
    if len(cars) != count:
        raise UsageError(f"{path} holds {len(cars)} cars, expected {count}; get it anew: unbraid data get cars3d")
    # One car is 0.8 MB, all are 216 MB: small enough to be turned around in memory.
    return np.stack([cars[name] for name in sorted(cars)], axis=2)


def _mat_files(path: Path) -> Iterator[tuple[str, bytes]]:
    """Name and content of every car's file; an archive is read front to back and nothing of it is unpacked to disk."""
    if path.is_dir():
        yield from ((file.name, read_bytes(file, limit=_LARGEST)) for file in sorted(path.glob("*.mat")))
        return
    with open_tar(path, "get it anew: unbraid data get cars3d") as archive:
        for member in archive:
            inside = PurePosixPath(member.name)
            if member.isfile() and inside.suffix == ".mat" and inside.parent.name == "cars":
                if member.size > _LARGEST:
                    raise UsageError(f"{inside.name} in {path} has {member.size:,} bytes, too many for one car")
                file = archive.extractfile(member)
                if file is not None:
                    yield inside.name, file.read()


def _car(data: bytes, name: str, path: Path, elevations: int, azimuths: int) -> np.ndarray:
    """One car, ``[elevation, azimuth, 64, 64, 3]``, from its ``im`` ``[128, 128, 3, azimuth, elevation]``."""
    from PIL import Image
    from scipy.io import loadmat

    with understood(f"the car {name} in {path}"):
        views = loadmat(io.BytesIO(data), variable_names=["im"])["im"]
    if views.ndim != 5 or views.shape[2:] != (3, azimuths, elevations) or views.dtype != np.uint8:
        raise UsageError(
            f"{name} in {path}: 'im' is {views.dtype} {views.shape}, "
            f"expected uint8 (128, 128, 3, {azimuths}, {elevations})"
        )
    pictures = views.transpose(4, 3, 0, 1, 2).reshape(-1, *views.shape[:3])
    small = [Image.fromarray(picture).resize((_SIDE, _SIDE), Image.Resampling.LANCZOS) for picture in pictures]
    return np.stack([np.asarray(picture) for picture in small]).reshape(elevations, azimuths, _SIDE, _SIDE, 3)

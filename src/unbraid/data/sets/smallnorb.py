"""SmallNORB: 50 toys of 5 kinds from 9 heights, 18 sides, in 6 lights (LeCun et al., 2004)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from unbraid.data.dataset import FactorDataset
from unbraid.data.files.catalogue import card, missing_file
from unbraid.data.files.converted import converted
from unbraid.data.files.root import find_file
from unbraid.data.files.store import ImageStore
from unbraid.data.registry import register
from unbraid.data.space import FactorSpace, check_index
from unbraid.errors import UsageError
from unbraid.reading import open_gzip, take

__all__ = ["INSTANCES", "SPACE", "SmallNORB", "convert_smallnorb", "load_smallnorb", "read_matrix"]

SPACE = FactorSpace(
    ("category", "elevation", "azimuth", "lighting"),
    (5, 9, 18, 6),
    ("categorical", "ordinal", "periodic", "categorical"),
)
INSTANCES = 10
_SIDE = 64
_TYPES: dict[int, np.dtype] = {507333717: np.dtype("<u1"), 507333716: np.dtype("<i4")}
_CHUNKS = ("smallnorb-5x46789x9x18x6x2x96x96-training", "smallnorb-5x01235x9x18x6x2x96x96-testing")
_FOLDERS = ("smallnorb", "small_norb")
_CARD = card(
    "smallnorb",
    (
        "Which of the ten toys of a category is shown is drawn anew at every access and is no factor: pass rng.",
        "Both published parts are joined, left camera only, 96x96 shrunk to 64x64.",
    ),
)


class SmallNORB(FactorDataset):
    """The four factors of the study; the toy itself is nuisance, drawn from ``rng``."""

    def __init__(self, store: ImageStore, space: FactorSpace = SPACE, instances: int = INSTANCES) -> None:
        self.store, self.shape, self.space, self.instances = store, store.shape, space, instances
        self.name, self.card = "smallnorb", _CARD

    @property
    def stochastic(self) -> bool:
        return True

    def images(self, index: np.ndarray | Sequence[int], rng: np.random.Generator | None = None) -> np.ndarray:
        if rng is None:
            raise UsageError(
                f"{self.name!r} draws the toy anew at every access: pass rng, such as np.random.default_rng(0)"
            )
        positions = check_index(index, len(self))
        return self.store.images(positions * self.instances + rng.integers(self.instances, size=positions.shape))


@register(
    "smallnorb",
    card=_CARD,
    images=len(SPACE) * INSTANCES,
    size="64x64x1",
    space=SPACE,
    files=[f"{folder}/{_CHUNKS[0]}-dat.mat{end}" for folder in _FOLDERS for end in (".gz", "")],
)
def load_smallnorb() -> SmallNORB:
    """SmallNORB from its six published files, gzipped or plain, found under the data root."""
    return SmallNORB(convert_smallnorb([_Chunk.find(stem) for stem in _CHUNKS]))


@dataclass(frozen=True)
class _Chunk:
    """The three files of one published part."""

    dat: Path
    cat: Path
    info: Path

    @classmethod
    def find(cls, stem: str) -> "_Chunk":
        paths = []
        for what in ("dat", "cat", "info"):
            file = f"{stem}-{what}.mat"
            path = find_file(*(f"{folder}/{file}{end}" for folder in _FOLDERS for end in (".gz", "")))
            if path is None:
                raise missing_file("smallnorb", f"smallnorb/{file}.gz")
            paths.append(path)
        return cls(*paths)


def convert_smallnorb(chunks: Sequence[_Chunk], space: FactorSpace = SPACE, instances: int = INSTANCES) -> ImageStore:
    """The store of all left images in the order (factors, instance), made at first use."""
    count = len(space) * instances
    small: np.ndarray | None = None

    def render(index: np.ndarray) -> np.ndarray:
        nonlocal small
        if small is None:
            small = _ordered(chunks, space, instances)
        return small[index]

    sources = [path for chunk in chunks for path in (chunk.dat, chunk.cat, chunk.info)]
    return converted("smallnorb", sources, count=count, shape=(_SIDE, _SIDE, 1), render=render)


def read_matrix(path: Path) -> np.ndarray:
    """An array in the "binary matrix" format: magic, number of dimensions, at least three sizes (int32), data."""
    with open_gzip(path) as file:
        data = take(file, 1 << 30)  # the largest published file has 450 MB
    if len(data) < 20:
        raise UsageError(f"{path} is cut short: it has only {len(data)} bytes; get the file anew")
    magic, dims = (int(value) for value in np.frombuffer(data, "<i4", 2))
    if magic not in _TYPES or not 1 <= dims <= 8:
        raise UsageError(f"{path} is no binary matrix of bytes or integers: it begins with {data[:8].hex(' ')}")
    start = 8 + 4 * max(3, dims)
    shape = tuple(int(size) for size in np.frombuffer(data, "<i4", dims, offset=8))
    if min(shape) < 0 or len(data) - start != prod(shape) * _TYPES[magic].itemsize:
        raise UsageError(f"{path} promises {' x '.join(map(str, shape))} values and is cut short; get the file anew")
    return np.frombuffer(data, _TYPES[magic], offset=start).reshape(shape)


def _ordered(chunks: Sequence[_Chunk], space: FactorSpace, instances: int) -> np.ndarray:
    """Small images of all chunks, put at the place their features say."""
    out = np.zeros((len(space) * instances, _SIDE, _SIDE, 1), dtype=np.uint8)
    filled = np.zeros(len(out), dtype=np.int64)
    for chunk in chunks:
        place = _places(chunk, space, instances)
        # Half a gigabyte a chunk: only one at a time, and only while it is shrunk.
        small = _shrink(chunk.dat)
        if len(small) != len(place):
            raise UsageError(
                f"{chunk.dat.name} holds {len(small):,} images, its -cat and -info speak of {len(place):,}"
            )
        out[place] = small
        np.add.at(filled, place, 1)
    if (filled != 1).any():
        raise UsageError(
            f"SmallNORB must show every toy once in every pose: {(filled == 0).sum():,} images are missing, "
            f"{(filled > 1).sum():,} come twice; get the files anew: unbraid data get smallnorb"
        )
    return out


def _places(chunk: _Chunk, space: FactorSpace, instances: int) -> np.ndarray:
    """Where each image of a chunk goes in the order (factors, instance)."""
    category, info = read_matrix(chunk.cat), read_matrix(chunk.info)
    if category.ndim != 1 or info.shape != (len(category), 4):
        raise UsageError(
            f"{chunk.cat.name} and {chunk.info.name} do not belong together: {category.shape}, {info.shape}"
        )
    instance, elevation, azimuth, lighting = info.T
    if instance.min() < 0 or instance.max() >= instances:
        raise UsageError(f"{chunk.info.name} speaks of toy {instance.max()}; there are 0..{instances - 1}")
    # Azimuths are written 0, 2, ..., 34 (times ten degrees).
    return space.index(np.stack([category, elevation, azimuth // 2, lighting], axis=1)) * instances + instance


def _shrink(path: Path) -> np.ndarray:
    """The left images of a file ``[n, 2, 96, 96]``, made small."""
    from PIL import Image

    pairs = read_matrix(path)
    if pairs.ndim != 4 or pairs.dtype != np.uint8:
        raise UsageError(f"{path} holds {pairs.dtype} {pairs.shape}, expected bytes [n, 2, 96, 96]")
    out = np.empty((len(pairs), _SIDE, _SIDE, 1), dtype=np.uint8)
    for k, (left, _) in enumerate(pairs):
        out[k, :, :, 0] = np.asarray(Image.fromarray(left).resize((_SIDE, _SIDE), Image.Resampling.LANCZOS))
    return out

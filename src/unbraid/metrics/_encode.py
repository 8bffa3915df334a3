"""From an encoder and a data set to codes by index, each distinct image encoded once."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from unbraid.errors import UsageError
from unbraid.metrics._discrete import distinct
from unbraid.metrics._score import as_array, check_codes
from unbraid.metrics._tensors import adapted, takes_tensors

__all__ = [
    "Encode",
    "Encoded",
    "FactorData",
    "Images",
    "MeasuredData",
    "Representation",
    "Seed",
    "Space",
    "check_space",
    "encode_index",
    "encoder_of",
    "is_stochastic",
]

Representation = Literal["mean", "sampled"]
Seed = int | tuple[int, int]
Encode = Callable[[np.ndarray], Any]
"""uint8 images ``[n, h, w, c]`` to codes ``[n, d]``."""


class Space(Protocol):
    """The grid of factor values, as :class:`unbraid.data.FactorSpace` offers it."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def sizes(self) -> tuple[int, ...]: ...
    @property
    def kinds(self) -> tuple[Any, ...]: ...
    def index(self, factors: Any) -> np.ndarray: ...
    def factors(self, index: Any) -> np.ndarray: ...
    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray: ...


class FactorData(Protocol):
    """Images by index with known factors, as :class:`unbraid.data.FactorDataset` offers them."""

    @property
    def space(self) -> Any: ...
    def images(self, index: Any, rng: np.random.Generator | None = None) -> np.ndarray: ...


class MeasuredData(Protocol):
    """Images by index with factors that were measured, as :class:`unbraid.data.TrackDataset` offers them."""

    @property
    def factor_names(self) -> tuple[str, ...]: ...
    def factors(self, index: Any) -> np.ndarray: ...
    def images(self, index: Any, rng: np.random.Generator | None = None) -> np.ndarray: ...
    def sample_index(self, n: int, rng: np.random.Generator) -> np.ndarray: ...


class Images(Protocol):
    """Images by index."""

    def images(self, index: Any, rng: np.random.Generator | None = None) -> np.ndarray: ...


def check_space(data: Any) -> Space:
    """The factor space of a data set in which every factor varies."""
    space: Space | None = getattr(data, "space", None)
    if space is None:
        part = "; a part of a grid is none" if getattr(data, "factor_names", ()) else ""
        raise UsageError(f"data must have known factors on a full grid (a .space){part}, got {data!r}")
    for name, size in zip(space.names, space.sizes, strict=True):
        if size < 2:
            raise UsageError(f"factor {name!r} has a single value; fix it with data.subset({name}=0), which removes it")
    return space


def is_stochastic(data: Images) -> bool:
    """Whether an image depends on chance as well as on its index."""
    return bool(getattr(data, "stochastic", False))


def encoder_of(run_or_encode: Any, representation: Representation = "mean", seed: Seed = 0) -> Encode:
    """A function from uint8 images to codes: the ``encode`` of a run or of a torch module, a module, or a function.

    Modules, and functions that refuse arrays, are given float tensors, see :func:`unbraid.metrics._tensors.adapted`.
    """
    if representation not in ("mean", "sampled"):
        raise UsageError(f"representation must be 'mean' or 'sampled', got {representation!r}")
    if isinstance(run_or_encode, str | os.PathLike):
        raise UsageError(f"expected a run, got the path {str(run_or_encode)!r}; open it with unbraid.open_run(path)")
    method = getattr(run_or_encode, "encode", None)
    if method is None:
        if not callable(run_or_encode):
            raise UsageError(f"expected a run or a function from images to codes, got {run_or_encode!r}")
        if representation == "sampled":
            raise UsageError("representation='sampled' needs a run; a function decides itself what it returns")
        return adapted(run_or_encode)
    if takes_tensors(run_or_encode):
        if representation == "sampled":
            raise UsageError("representation='sampled' needs a run; a module decides itself what it returns")
        return adapted(method, run_or_encode)
    if representation == "mean":
        found: Encode = method
        return found
    noise = np.random.default_rng(seed)
    # Every batch draws its own noise: a fixed seed would repeat it image by image.
    return lambda images: method(images, kind="sampled", seed=int(noise.integers(2**31)))


@dataclass(frozen=True)
class Encoded:
    """Codes of many draws from few images: row ``i`` of the draws has the code ``table[where[i]]``."""

    table: np.ndarray
    where: np.ndarray

    def __len__(self) -> int:
        return len(self.where)

    def __getitem__(self, rows: slice) -> np.ndarray:
        return self.table[self.where[rows]]

    def part(self, rows: slice) -> "Encoded":
        """The same table, some of the draws."""
        return Encoded(self.table, self.where[rows])


def encode_index(
    encode: Encode,
    data: Images,
    index: np.ndarray,
    *,
    every_draw: bool = False,
    seed: Seed = 0,
    batch_size: int = 1024,
    progress: Callable[[str], None] | None = None,
) -> Encoded:
    """Codes of the images at these positions; a position that comes twice is encoded once.

    Where chance plays a part, in the image (``data.stochastic``, seeded by ``seed``) or in the code (``every_draw``),
    every draw is encoded for itself: sharing one outcome would make independent samples dependent. ``progress`` hears
    how far it is after every batch.
    """
    repeated = every_draw or is_stochastic(data)
    wanted, where = (index, np.arange(len(index))) if repeated else distinct(index)
    rng = np.random.default_rng(seed)
    parts = []
    began = time.monotonic()
    for start in range(0, len(wanted), batch_size):
        batch = wanted[start : start + batch_size]
        codes = as_array(encode(data.images(batch, rng)), "codes from encode")
        if codes.ndim != 2 or len(codes) != len(batch):
            raise UsageError(f"encode must return [{len(batch)}, d] for {len(batch)} images, got shape {codes.shape}")
        parts.append(codes)
        if progress is not None:
            done = start + len(batch)
            left = (time.monotonic() - began) * (len(wanted) - done) / done
            progress(f"encoding: {done:,} of {len(wanted):,} images, {int(left) // 60}:{int(left) % 60:02d} left")
    return Encoded(check_codes(np.concatenate(parts), name="codes from encode"), where)

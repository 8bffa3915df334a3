"""Codes of a split's training images: computed once by a frozen encoder, then a data set of vectors to learn from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unbraid.data import Dataset, counter_rng
from unbraid.errors import UsageError
from unbraid.evaluation import describe_run, fingerprint_data, say
from unbraid.files import make_folders, replace_file
from unbraid.generalization.drawing import draw
from unbraid.reading import read_npy

if TYPE_CHECKING:
    from unbraid.data import FactorSpace, Split
    from unbraid.training import Run

__all__ = ["FOLDER", "Codes", "encoded", "state_of"]

FOLDER = "readouts"
"""Where read-outs lie in an encoder's run."""
BLOCK = 4096
"""Images held at a time."""
Index = np.ndarray | Sequence[int]
"""Positions, integers ``[n]``."""


class Codes(Dataset):
    """Codes ``[n, d]`` in the place of the images of a part, with the factors that these have."""

    def __init__(self, codes: np.ndarray, part: Dataset, index: np.ndarray, space: FactorSpace) -> None:
        if codes.ndim != 2 or len(codes) != len(index) or not np.isfinite(codes).all():
            raise UsageError(f"codes must be finite numbers [{len(index)}, d], got shape {list(codes.shape)}")
        self.codes, self.whose, self.index = codes.astype(np.float32), part, index
        self.shape, self.name, self.side = (codes.shape[1],), f"codes of {part.name}", part.side
        self.grid_space, self.classes = space, part.classes
        # Positions on a grid are small numbers; the table of a million images then is as large as their codes.
        self._factors = np.concatenate(
            [part.factors(index[start : start + BLOCK]).astype(np.int32) for start in range(0, len(index), BLOCK)]
        )

    def __len__(self) -> int:
        return len(self.codes)

    def images(self, index: Index, rng: np.random.Generator | None = None) -> np.ndarray:
        return self.codes[np.asarray(index)]

    def origin(self, index: Index) -> np.ndarray:
        return self.whose.origin(self.index[np.asarray(index)])

    @property
    def factor_names(self) -> tuple[str, ...]:
        return self.grid_space.names

    @property
    def factor_sizes(self) -> tuple[int, ...]:
        # Of the whole grid: the training side may lack the largest values, and targets are scaled by them.
        return self.grid_space.sizes

    @property
    def factor_kinds(self) -> tuple:
        return self.grid_space.kinds

    def labels(self, index: Index | None = None) -> np.ndarray:
        return self.whose.labels(self.index if index is None else self.index[np.asarray(index)])

    def factors(self, index: Index) -> np.ndarray:
        return self._factors[np.asarray(index)].astype(np.int64)


def state_of(run: Run, split: Split) -> str:
    """A hash of the encoder's weights and of the images it is asked to encode."""
    about = {"run": describe_run(run), "data": fingerprint_data(split.train)}
    return hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()[:12]


def encoded(run: Run, split: Split, images: int | None, space: FactorSpace) -> Codes:
    """The mean codes of a split's training side, or of ``images`` of it; kept in the run and read when asked again."""
    train = split.train
    index = draw(len(train), images, 0)
    path = run.path / FOLDER / f"codes-{state_of(run, split)}-{len(index)}.npy"
    if not path.exists():
        _make_folder(path.parent)
        found = _encode(run, train, index)
        with replace_file(path) as temporary, temporary.open("wb") as file:
            np.save(file, found)
    codes = read_npy(path, remedy="delete it to encode the images anew")
    if codes.ndim != 2 or len(codes) != len(index) or codes.dtype != np.float32 or not np.isfinite(codes).all():
        raise UsageError(f"{path} holds {codes.dtype} {list(codes.shape)}, expected finite float32 [{len(index)}, d]")
    return Codes(codes, train, index, space)


def _encode(run: Run, part: Dataset, index: np.ndarray) -> np.ndarray:
    blocks = []
    for number, start in enumerate(range(0, len(index), BLOCK)):
        say(f"encoding {start:,} of {len(index):,} training images for the read-out")
        images = part.images(index[start : start + BLOCK], counter_rng(0, number))
        blocks.append(run.encode(images).astype(np.float32))
    return np.concatenate(blocks)


def _make_folder(folder: Path) -> None:
    try:
        make_folders(folder)
    except OSError as error:
        raise UsageError(f"cannot write read-outs to {folder} ({error.strerror})") from error

"""What a measure looks at: a run, or a function that takes its place."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from unbraid.errors import UsageError
from unbraid.metrics import adapted, encoder_of
from unbraid.reading import read_bytes

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.training import Run

__all__ = [
    "Function",
    "as_run",
    "describe_run",
    "describes",
    "encode_all",
    "fingerprint_data",
    "lineage_of",
    "representations_of",
]


class Function:
    """A function or a torch module in the place of a run: its values pass for codes and for predictions."""

    path = None

    def __init__(self, function: Callable[[np.ndarray], Any]) -> None:
        self.function = function
        self._encode, self._predict = encoder_of(function), adapted(function)

    def can(self, what: str) -> bool:
        return what in ("encode", "predict")

    def encode(self, images: np.ndarray, *, kind: str = "mean", seed: int = 0, batch_size: int = 256) -> np.ndarray:
        if kind != "mean":
            raise UsageError(f"kind {kind!r} needs a run; a function decides itself what it returns")
        return self._apply(self._encode, images, batch_size)

    def predict(self, images: np.ndarray, *, batch_size: int = 256) -> np.ndarray:
        return self._apply(self._predict, images, batch_size)

    def _apply(self, function: Callable[[np.ndarray], Any], images: np.ndarray, batch_size: int) -> np.ndarray:
        starts = range(0, len(images), batch_size)
        return np.concatenate([np.asarray(function(images[start : start + batch_size])) for start in starts])


def as_run(run_or_function: Any) -> Run:
    """A run as it is, a function in the shape of one."""
    from unbraid.training import Run

    if isinstance(run_or_function, Run | Function):
        return cast(Run, run_or_function)
    if isinstance(run_or_function, str | Path):
        raise UsageError(f"expected a run, got the path {str(run_or_function)!r}; open it with unbraid.open_run(path)")
    if not callable(run_or_function):
        raise UsageError(f"expected a run or a function from images to arrays, got {run_or_function!r}")
    return cast(Run, Function(run_or_function))


def describes(run: Run) -> bool:
    """Whether a model tells something of images by itself: reconstruction losses, KL; see ``Objective.describe``."""
    from unbraid.objectives import Objective

    return not isinstance(run, Function) and type(run.objective).describe is not Objective.describe


def encode_all(run: Run, data: ImageDataset, index: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Mean codes ``[n, d]`` of images, made a thousand at a time; ``rng`` is for images that depend on chance."""
    parts = np.array_split(index, max(1, len(index) // 1024))
    return np.concatenate([run.encode(data.images(part, rng)) for part in parts])


def lineage_of(run: Run) -> list[Run]:
    """The run, the one it was started from, the one that was started from, and so on; none for a function."""
    from unbraid.training import Run

    if isinstance(run, Function):
        return []
    found, places = [run], {run.path.resolve()}
    while (start := found[-1].info.get("start")) is not None:
        place = Path(start["path"])
        if place.resolve() in places:  # one that was trained anew in the place of its own beginning
            break
        try:
            found.append(Run.open(place, device=str(run.device)))
        except UsageError as error:
            raise UsageError(
                f"{found[-1].path} was started from {place}, of which must be known what labels it was taught, and "
                f"which cannot be opened: {error}"
            ) from error
        places.add(place.resolve())
    return found


def representations_of(run: Run) -> tuple[str, ...]:
    """The codes of an image that a model knows; none if it does not encode."""
    if isinstance(run, Function):
        return ("mean",)
    return run.objective.representations if run.can("encode") else ()


def describe_run(run: Run) -> dict[str, Any]:
    """Which state of a run was measured: its step, and a hash of its checkpoint."""
    from unbraid.training import CHECKPOINT

    if not (run.path / CHECKPOINT).exists():
        raise UsageError(f"{run.path} has no weights yet: the run has not reached its first checkpoint")
    content = read_bytes(run.path / CHECKPOINT, limit=1 << 36)
    return {"step": int(run.info["step"]), "weights": hashlib.sha256(content).hexdigest()[:16]}


def fingerprint_data(data: ImageDataset) -> dict[str, Any]:
    """The record of a data set as run folders have it, but for what scores do not depend on."""
    from unbraid.training import describe_data

    about = describe_data(data)
    del about["name"]  # the same images by another name give the same scores
    for key in ("positions", "split"):
        if about[key] is None:
            del about[key]  # answers of earlier measures on whole data sets stay valid
    return about

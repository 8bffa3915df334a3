"""A run's folder: made, cleared of what a killed process left, begun or opened again for the same run only."""

from __future__ import annotations

import platform
import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from unbraid import objectives
from unbraid.data import ImageDataset
from unbraid.errors import UsageError
from unbraid.files import make_folders, open_lock
from unbraid.objectives import Objective
from unbraid.paths import check_path
from unbraid.training.described import describe_data
from unbraid.training.run import CHECKPOINT, EVALUATIONS, HISTORY, INFO, read_info
from unbraid.training.start import Start, in_words

__all__ = ["clear", "identity", "make_folder", "open_or_begin", "sweep"]


def make_folder(folder: Path) -> Path:
    check_path(folder, "folder")
    try:
        make_folders(folder)
        open_lock(folder / ".lock").close()
    except OSError as error:
        raise UsageError(f"cannot write to {folder} ({error.strerror}); choose another folder (--out)") from error
    free = shutil.disk_usage(folder).free
    if free < 100 * 2**20:
        raise UsageError(f"only {free / 2**20:.0f} MB are free at {folder}; a run needs about 100: make room first")
    return folder


def sweep(folder: Path) -> None:
    """Remove the unfinished files of a process that was killed while it wrote them."""
    for name in (INFO, CHECKPOINT, HISTORY, EVALUATIONS):
        for left in folder.glob(f".{name}.*.part"):
            left.unlink(missing_ok=True)


def clear(folder: Path) -> None:
    """Remove a run's own files, and nothing else that may lie in the folder."""
    made_from_it = ("scores.json", "factors.png", "traversal.png", "traversal.gif", "report.html")
    # The record goes last: without it the folder would no longer be known as a run's.
    for name in (*made_from_it, CHECKPOINT, HISTORY, EVALUATIONS, INFO):
        (folder / name).unlink(missing_ok=True)
    for name in ("scores", "readouts", "tensorboard"):
        shutil.rmtree(folder / name, ignore_errors=True)


def identity(
    objective: Objective, dataset: ImageDataset, seed: int, batch_size: int, log_every: int, *, own_stream: bool
) -> dict[str, Any]:
    """What makes a run the one it is, as plain JSON: its folder takes no other."""
    return {
        "objective": {
            "name": objective.name,
            "options": objectives.options_of(objective),
            "module": type(objective).__module__,
            # Of others nothing was ever written, and so their records stay what they were.
            **({"codes": objective.codes} if objective.codes == "discrete" else {}),
        },
        "data": describe_data(dataset),
        "seed": seed,
        "batch_size": batch_size,
        "log_every": log_every,
        "stream": "own" if own_stream else "usual",
    }


def open_or_begin(
    folder: Path, objective: Objective, asked: dict[str, Any], start: Start | None, fresh: bool
) -> dict[str, Any]:
    """The record of the run in a folder, which must be the one that is asked for, or that of a new one.

    Nothing is removed: ``fresh`` asks for the record of a new run in the place of another.
    """
    known = (folder / INFO).exists()
    if known and not fresh:
        info = read_info(folder)
        defaults = {"objective": {"options": objectives.default_options(objective)}}
        _check_same(folder, info, asked, _flat(defaults))
        _check_start(folder, info, start)
        info.pop("error", None)
        # The same images by another name: the file may have been moved, or the run may have been.
        info["data"] = asked["data"]
        return info
    strangers = sorted(found.name for found in folder.iterdir() if found.name != ".lock")
    if strangers and not known:
        raise UsageError(f"{folder} is no run folder and not empty ({strangers[0]}, ...); choose another --out")
    return {
        "format": 1,
        **asked,
        "start": None,
        "status": "running",
        "step": 0,
        "seconds": 0.0,
        "command": sys.argv,
        "versions": {
            "unbraid": version("unbraid"),
            "torch": torch.__version__,
            "python": platform.python_version(),
            "machine": platform.machine(),
        },
    }


_FINGERPRINTS = {
    "data.fingerprint": "other images",
    "data.truth": "other factors or labels",
    "data.positions": "other images of the whole",
}
_OTHERWISE = "Give the run its own folder (--out), or --fresh to start this one anew"


def _check_same(folder: Path, info: dict[str, Any], asked: dict[str, Any], defaults: dict[str, Any]) -> None:
    stored = _flat(info)
    for key, value in _flat(asked).items():
        # Where code and images come from may change; the fingerprints say whether the data did.
        if key.startswith(("objective.module", "data.name", "data.recipe")):
            continue
        if key == "data.factor_sizes" and stored.get(key) is None:
            continue  # earlier versions did not know the factors of a part
        if key not in stored and not key.startswith("objective."):
            continue  # an earlier version did not write it down
        if key == "stream" and value != stored[key]:
            words = {"own": "an own stream, which a folder cannot hold", "usual": "the objective's usual batches"}
            found = words.get(stored[key], f"a stream {stored[key]!r}")
            raise UsageError(
                f"{folder} holds a run on {found}, now asked for {words[value].partition(',')[0]}. Pass "
                f"the stream it was begun with (stream=...), if any. {_OTHERWISE}"
            )
        if stored.get(key, defaults.get(key)) != value and key in _FINGERPRINTS:
            raise UsageError(
                f"{folder} holds a run on data with {_FINGERPRINTS[key]} ({key} = {stored[key]!r}, now {value!r}). "
                f"Give the data it was begun with. {_OTHERWISE}"
            )
        if stored.get(key, defaults.get(key)) != value:
            raise UsageError(
                f"{folder} holds a run with {key} = {stored.get(key)!r}, now asked for {value!r}. {_OTHERWISE}"
            )


def _check_start(folder: Path, info: dict[str, Any], start: Start | None) -> None:
    """Refuse another way to begin. The run it began from may have moved, trained on or be gone."""
    if "start" not in info:
        return  # version 0.1 did not write it down
    stored = None if info["start"] is None else Start(Path(info["start"]["path"]), tuple(info["start"]["parts"]))
    if (stored is None) != (start is None) or (start and start.differs_from(info["start"])):
        raise UsageError(
            f"{folder} holds a run that began with {in_words(stored)}, now asked to begin with {in_words(start)}. "
            f"{_OTHERWISE}"
        )


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat

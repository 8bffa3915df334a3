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
from unbraid.files import read_json
from unbraid.objectives import Objective
from unbraid.training.run import CHECKPOINT, EVALUATIONS, HISTORY, INFO, describe_data

__all__ = ["make_folder", "open_or_begin", "sweep"]


def make_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".lock").touch()
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


def _clear(folder: Path) -> None:
    """Remove a run's own files, and nothing else that may lie in the folder."""
    made_from_it = ("scores.json", "factors.png", "traversal.png", "traversal.gif", "report.html")
    # The record goes last: without it the folder would no longer be known as a run's.
    for name in (*made_from_it, CHECKPOINT, HISTORY, EVALUATIONS, INFO):
        (folder / name).unlink(missing_ok=True)
    for name in ("scores", "tensorboard"):
        shutil.rmtree(folder / name, ignore_errors=True)


def open_or_begin(
    folder: Path, objective: Objective, dataset: ImageDataset, seed: int, batch_size: int, log_every: int, fresh: bool
) -> dict[str, Any]:
    identity: dict[str, Any] = {
        "objective": {
            "name": objective.name,
            "options": objectives.options_of(objective),
            "module": type(objective).__module__,
        },
        "data": describe_data(dataset),
        "seed": seed,
        "batch_size": batch_size,
        "log_every": log_every,
    }
    known = (folder / INFO).exists()
    if known and not fresh:
        info = read_json(folder / INFO)
        _check_same(folder, _flat(info), _flat(identity))
        info.pop("error", None)
        # The same images by another name: the file may have been moved, or the run may have been.
        info["data"] = identity["data"]
        return info
    if known:
        _clear(folder)
    elif strangers := sorted(found.name for found in folder.iterdir() if found.name != ".lock"):
        raise UsageError(f"{folder} is no run folder and not empty ({strangers[0]}, ...); choose another --out")
    return {
        "format": 1,
        **identity,
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


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


def _check_same(folder: Path, stored: dict[str, Any], asked: dict[str, Any]) -> None:
    for key, value in asked.items():
        # Where code and images come from may change; the fingerprint says whether the images did.
        if key.startswith(("objective.module", "data.name", "data.recipe")):
            continue
        if key == "data.factor_sizes" and stored.get(key) is None:
            continue  # earlier versions did not know the factors of a part
        if stored.get(key) != value:
            raise UsageError(
                f"{folder} holds a run with {key} = {stored.get(key)!r}, now asked for {value!r}. Give the run its own "
                "folder (--out), or --fresh to start this one anew"
            )

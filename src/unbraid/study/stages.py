"""What a worker does with one run of a study: train it, measure it. Functions of plain arguments, for the engines."""

from __future__ import annotations

import platform
from functools import lru_cache
from pathlib import Path
from typing import Literal

from unbraid.data import ImageDataset, load
from unbraid.errors import UsageError
from unbraid.evaluation import FOLDER, learning_hook
from unbraid.study.evaluation import evaluate_run
from unbraid.study.folder import RECORD, StudyFolder, open_study
from unbraid.study.method import batch_size_of, objective_of
from unbraid.training import open_run, train

__all__ = ["Result", "evaluate_index", "train_index"]

Result = Literal["done", "busy", "stopped"]


def train_index(folder: str, index: int) -> Result:
    """Train a run of a study, or go on with it; does nothing if another process is at it."""
    study = _open(folder)
    with study.claim(index) as held:
        if not held:
            return "busy"
        if study.progress(index) in ("trained", "evaluated"):
            return "done"
        spec = study.study[index]
        objective, data = objective_of(spec), _load(spec.data_set)
        run = train(
            objective,
            data,
            out=study.run(index),
            steps=spec.steps,
            seed=spec.seed,
            batch_size=batch_size_of(spec, objective),
            precision=spec.precision,
            progress="none",
            hooks=[learning_hook(data, every=study.study.watch)] if study.study.watch else [],
            start=None if spec.after is None else study.run(spec.after),
            parts=spec.parts,
        )
        return "done" if run.finished else "stopped"


def evaluate_index(folder: str, index: int) -> Result:
    """Measure a trained run of a study; does nothing if another process is at it."""
    study = _open(folder)
    with study.claim(index) as held:
        if not held:
            return "busy"
        _sweep(study.run(index))
        if study.progress(index) != "evaluated":
            spec = study.study[index]
            evaluate_run(open_run(study.run(index)), study.study.measures, lambda name: _load(name or spec.data_set))
        return "done"


def _sweep(run: Path) -> None:
    """Remove the unfinished files of a process that was killed while it wrote them; nobody else is at this run."""
    for folder in (run, run / FOLDER):
        for left in folder.glob(".*.part"):
            left.unlink(missing_ok=True)


def _open(folder: str) -> StudyFolder:
    if not (Path(folder) / RECORD).exists():
        raise UsageError(
            f"{folder} cannot be seen from {platform.node()}; the folder of a study must be on a file system that all "
            "machines share"
        )
    return open_study(folder)


@lru_cache(maxsize=4)
def _load(name: str) -> ImageDataset:
    """Once per process: the engines that keep their workers load a data set for many runs."""
    return load(name)

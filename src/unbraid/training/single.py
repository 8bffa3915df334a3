"""Train an objective on a data set into a run folder, or go on where an earlier process stopped."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from unbraid import objectives
from unbraid.data import ImageDataset, Stream, load
from unbraid.errors import UsageError, unknown_name
from unbraid.objectives import Objective
from unbraid.paths import user_path
from unbraid.progress import ProgressKind
from unbraid.training import numerics
from unbraid.training.amounts import check_amounts, check_batch
from unbraid.training.folder import identity
from unbraid.training.loop import Hook
from unbraid.training.run import Run
from unbraid.training.session import open_session
from unbraid.training.start import Start
from unbraid.training.tracking import Tracker, named_trackers

__all__ = ["train"]

STEPS = 20_000
"""The budget where none is given."""


def train(
    objective: str | Objective,
    data: str | ImageDataset,
    *,
    out: str | Path | None = None,
    steps: int | None = None,
    minutes: float | None = None,
    seed: int = 0,
    batch_size: int = 64,
    device: str = "auto",
    precision: str = "auto",
    threads: int = 1,
    log_every: int = 100,
    checkpoint_seconds: float = 30.0,
    progress: ProgressKind = "auto",
    hooks: Sequence[Hook] = (),
    stream: Stream | None = None,
    track: str | Tracker | Sequence[str | Tracker] = (),
    fresh: bool = False,
    start: str | Path | None = None,
    parts: Sequence[str] = (),
    **hyperparameters: Any,
) -> Run:
    """Train, and return the finished (or, after Ctrl-C, stopped) run: ``train("beta-vae", data, beta=2.0)``.

    Further arguments are hyperparameters of an objective that is given by name; an :class:`Objective` has its own.
    ``out`` is the run's folder, by default one under ``runs/`` that is named by objective, data and a hash of all
    settings. The budget is a number of ``steps`` (20,000 without any), of ``minutes``, or whichever is used up first.
    The same call again goes on from
    the last checkpoint and ends with the same bytes as if it had never stopped; a larger budget extends a finished
    run. ``fresh`` throws away what is in the folder. An own ``stream`` takes the place of the objective's usual one;
    the folder cannot hold it, so that going on needs it again.
    ``start`` is another run's folder to begin from: its weights, optimiser state and step count (which is part of the
    budget), but the hyperparameters given here. With ``parts``, as in ``("encoder",)``, only the weights of these
    sub-modules are taken, and optimiser and step are fresh. Once there is a checkpoint nothing is taken from ``start``.
    ``track`` names trackers that are told of it, too: ``"tensorboard"``, ``"wandb"``, ``"mlflow"``, ``"mine.py:Mine"``.
    """
    objective = _objective(objective, hyperparameters)
    dataset = load(data) if isinstance(data, str) else data
    if not isinstance(dataset, ImageDataset):
        raise UsageError(
            f"data must be a data set or the name of one, got {type(data).__name__}; own arrays become one by "
            "unbraid.data.from_arrays(images)"
        )
    check_amounts(steps=steps, minutes=minutes, seed=seed, log_every=log_every, threads=threads)
    check_amounts(checkpoint_seconds=checkpoint_seconds)
    check_batch(batch_size, dataset.shape)
    if steps is None and minutes is None:
        steps = STEPS
    out = (
        user_path(out, "out")
        if out is not None
        else _usual_folder(objective, dataset, seed, batch_size, log_every, stream)
    )
    numerics.setup(threads=threads)
    trackers = named_trackers(track)
    with open_session(
        objective,
        dataset,
        out,
        seed=seed,
        batch_size=batch_size,
        device=device,
        precision=precision,
        threads=threads,
        log_every=log_every,
        checkpoint_seconds=checkpoint_seconds,
        hooks=hooks,
        stream=stream,
        trackers=trackers,
        fresh=fresh,
        start=Start.of(start, parts),
    ) as session:
        session.run(
            None if steps is None else objective.updates(steps), None if minutes is None else 60 * minutes, progress
        )
    return Run.open(out, device=device)


def _objective(objective: str | Objective, hyperparameters: Mapping[str, Any]) -> Objective:
    if isinstance(objective, Objective):
        if hyperparameters:
            raise UsageError(
                f"{next(iter(hyperparameters))} is no argument of train; hyperparameters of an objective that is made "
                "already belong into it"
            )
        return objective
    options = objectives.default_options(objectives.make(objective)) if hyperparameters else {}
    for name in hyperparameters:
        if name not in options:
            known = (*options, *(key for key in signature(train).parameters if key not in ("objective", "data")))
            raise unknown_name(f"hyperparameter of {objective} or argument of train:", name, known[:-1])
    return objectives.make(objective, dict(hyperparameters))


def _usual_folder(
    objective: Objective, dataset: ImageDataset, seed: int, batch_size: int, log_every: int, stream: Stream | None
) -> Path:
    """A folder that the same settings always mean, and others never do."""
    asked = identity(objective, dataset, seed, batch_size, log_every, own_stream=stream is not None)
    asked["data"] = {**asked["data"], "recipe": None}  # the same images from another place
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()[:8]
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", Path(dataset.name).stem).strip("-.") or "data"
    return Path("runs") / f"{objective.name}-{name}-{digest}"

"""What a worker does with a member: train its models for one generation, score them, write down the result."""

from __future__ import annotations

import contextlib
import math
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data import ImageDataset, make_stream
from unbraid.engines import describe_error
from unbraid.errors import UsageError
from unbraid.files import exclusive, make_folders, write_json
from unbraid.reading import read_json
from unbraid.selection.population import Population
from unbraid.selection.scoring import MemberScore, find_score
from unbraid.selection.source import Source
from unbraid.training import Diverged, Run, train_together

__all__ = ["RESULT", "seed_of", "train_member"]

RESULT = "result.json"
RESULT_FORM = {"score": float, "per_model": list, "runs": [str], "steps": int, "retries": int}
PATIENCE = 60.0
"""Seconds to wait for a worker that still holds a member's folder."""


def train_member(
    *,
    folder: str,
    start: str | None,
    population: Population,
    source: Source,
    hyperparameters: dict[str, float],
    steps: int,
    generation: int,
    member: int,
    seed: int,
) -> dict[str, Any] | None:
    """Train a member up to a number of steps and score it; ``None`` if it was asked to stop before it was done.

    It goes on from the models in the folder ``start``. If the loss diverges, it tries again from there with other
    random numbers; when all tries are used up the score is 0, as it is when the score cannot be computed or is no
    number. Given again after an interruption, it ends with the same result.
    """
    out, data = Path(folder), source.load()
    make_folders(out)
    with _held(out):
        if (out / RESULT).exists():  # by a worker that outlived the process which had started it
            return read_json(out / RESULT, RESULT_FORM)
        return _train_and_score(out, start, population, data, hyperparameters, steps, (seed, generation, member))


def _train_and_score(
    out: Path,
    start: str | None,
    population: Population,
    data: ImageDataset,
    hyperparameters: dict[str, float],
    steps: int,
    key: tuple[int, int, int],
) -> dict[str, Any] | None:
    starts = (
        None if start is None else [Path(start) / run for run in read_json(Path(start) / RESULT, RESULT_FORM)["runs"]]
    )
    result: dict[str, Any] = {"score": 0.0, "per_model": [], "runs": [], "steps": steps, "retries": 0}
    for attempt in range(population.retries + 1):
        place = out / f"try-{attempt}"
        try:
            runs = _train(place, starts, population, data, hyperparameters, steps, (*key, attempt))
        except Diverged as error:
            result |= {"retries": attempt, "error": str(error), "diverged": True}
            continue
        if len(runs) < population.models or not all(run.finished for run in runs):
            return None
        result |= {"retries": attempt, "error": None, "diverged": False}
        result["runs"] = [str(run.path.relative_to(out)) for run in runs]
        result |= _score(population.score, runs, data, key[0])
        break
    for place in out.glob("try-*"):
        if not any(run.startswith(f"{place.name}/") for run in result["runs"]):
            shutil.rmtree(place)
    write_json(out / RESULT, result)
    return result


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold a member's folder; workers of a killed process get the time to save and leave."""
    deadline = time.monotonic() + PATIENCE
    with contextlib.ExitStack() as stack:
        while True:
            try:
                stack.enter_context(exclusive(folder))
                break
            except UsageError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        yield


def seed_of(*numbers: int) -> int:
    """A seed for the random numbers of something that has these numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


def _train(
    place: Path,
    starts: list[Path] | None,
    population: Population,
    data: ImageDataset,
    hyperparameters: dict[str, float],
    steps: int,
    key: tuple[int, ...],
) -> list[Run]:
    objective = population.make_objective(hyperparameters)
    batch_size = int(hyperparameters.get("batch_size", 64))
    return train_together(
        objective,
        data,
        outs=[place / f"model-{model}" for model in range(population.models)],
        seeds=[seed_of(*key, model) for model in range(population.models)],
        stream=make_stream(objective.needs, data, batch_size, seed_of(*key, population.models)),
        steps=steps,
        batch_size=batch_size,
        starts=starts,
        precision=population.precision,
        way=population.together,
        processes=1,  # the other members keep the cores busy
    )


def _score(name: str, runs: list[Run], data: ImageDataset, seed: int) -> dict[str, Any]:
    try:
        function, options = find_score(name)
        found = function(runs, data, seed=seed, **options)
        judged = found if isinstance(found, MemberScore) else MemberScore(float(found))
    except Exception as error:  # whatever the score does, the population goes on
        return {"error": f"scoring failed: {describe_error(error)}"}
    if not math.isfinite(judged.value):
        return {"error": f"the score is {judged.value}"}
    return {"score": judged.value, "per_model": list(asdict(judged)["per_model"])}

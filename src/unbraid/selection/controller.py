"""Carry out population based training: hand out members generation by generation, record, select, go on."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from unbraid.data import ImageDataset, load
from unbraid.engines import Engine, Outcome, ProcessEngine, Task
from unbraid.errors import UsageError
from unbraid.files import exclusive, make_folders
from unbraid.paths import user_path
from unbraid.progress import Progress, ProgressKind
from unbraid.reading import read_json, understood
from unbraid.selection.evolution import RECORD, Evolution, open_evolution
from unbraid.selection.members import RESULT
from unbraid.selection.population import Member, Population, Result
from unbraid.selection.scoring import dci_score, find_score, mig_score, without_place
from unbraid.selection.source import Source
from unbraid.training import describe_data, problem_of

__all__ = ["check_population", "evolve"]

REQUEUES = 2
"""How often a member whose worker was lost is handed out again."""
BUDGET = ("generations", "threshold", "patience")
"""Settings that may change when a population goes on."""


def evolve(
    population: Population,
    data: str | ImageDataset,
    *,
    out: str | Path,
    engine: Engine | None = None,
    seed: int = 0,
    plugins: Sequence[str] = (),
    progress: ProgressKind = "auto",
    title: str = "evolve",
    after: Callable[[Evolution], bool] | None = None,
) -> Evolution:
    """Train a population until it converges or its generations are used up.

    ``data`` may be a :class:`~unbraid.data.Part` of a data set. The same call again goes on where an
    earlier one stopped, also after ``kill -9``, and gives the same history as if it had not been stopped; more
    generations extend a finished population. History and scores do not depend on the engine or its number of workers.
    An engine that is given stays open. ``after`` is called after each generation and ends the training by
    returning true.
    """
    dataset = load(data) if isinstance(data, str) else data
    folder = user_path(out, "out")
    with contextlib.suppress(FileExistsError):
        make_folders(folder)
    with contextlib.ExitStack() as stack:
        stack.enter_context(exclusive(folder))
        check_population(population, dataset)  # before the folder remembers it
        evolution = _open_or_begin(folder, population, dataset, seed)
        if evolution.finished:
            return evolution
        pool = engine or stack.enter_context(ProcessEngine())
        part = len(evolution.generations) / population.generations
        display = stack.enter_context(Progress(title, unit="members", kind=progress, part=part))
        _Controller(evolution, Source.of(dataset), pool, tuple(plugins), display).run(after)
    return evolution


class _Controller:
    def __init__(
        self,
        evolution: Evolution,
        source: Source,
        engine: Engine,
        plugins: tuple[str, ...],
        display: Progress,
    ) -> None:
        self.evolution, self.source, self.engine, self.plugins = evolution, source, engine, plugins
        self.display = display
        self.began, self.earlier = time.monotonic(), evolution.seconds

    def run(self, after: Callable[[Evolution], bool] | None) -> None:
        """Generation after generation."""
        evolution = self.evolution
        while not evolution.finished:
            members = evolution.select()
            _prune(evolution, members)
            results = self._generation(members)
            _raise_if_all_failed(evolution, results)
            evolution.seconds = self.earlier + time.monotonic() - self.began
            evolution.record(results)
            best = evolution.generations[-1].best.score
            self.display.tell(f"{self.display.title}: best of generation {len(evolution.generations)}: {best:.4f}")
            if after is not None and after(evolution):
                break
        _prune(evolution, evolution.members())

    def _generation(self, members: Sequence[Member]) -> list[Result]:
        """Train and score every member that is not done yet."""
        number = len(self.evolution.generations)
        found: dict[int, Result] = {}
        tasks = {member.id: self._task(member, number) for member in members}
        by_id = {member.id: member for member in members}
        lost: dict[int, int] = {}

        def take(member: int, value: dict[str, Any]) -> None:
            found[member] = _result(by_id[member], value)
            generations = self.evolution.population.generations
            part = (number + len(found) / len(members)) / generations
            note = f"generation {number + 1}/{generations}"
            self.display.update(self.display.done + 1, part=part, note=note)
            if found[member].error:
                self.display.tell(f"generation {number + 1}, member-{member:02d}: {found[member].error}")

        waiting = []
        for member in members:
            done = self.evolution.member_folder(number, member.id) / RESULT
            if done.exists():
                with understood(done, "delete it to have the member trained anew"):
                    take(member.id, read_json(done))
            else:
                waiting.append(tasks[member.id])
        for outcome in _run(self.engine, waiting):
            if outcome.ok and outcome.value is not None:
                take(outcome.key, outcome.value)
                continue
            error = outcome.error or "asked to stop from outside"
            lost[outcome.key] = lost.get(outcome.key, 0) + 1
            if lost[outcome.key] <= REQUEUES:
                self.engine.submit(tasks[outcome.key])
            else:
                take(outcome.key, {"score": 0.0, "steps": by_id[outcome.key].steps, "error": error})
        return [found[member.id] for member in members]

    def _task(self, member: Member, number: int) -> Task:
        population, images = self.evolution.population, self.evolution.population.images
        assert images is not None
        batch_size = int(member.hyperparameters.get("batch_size", 64))
        arguments = {
            "folder": str(self.evolution.member_folder(number, member.id).absolute()),
            "start": None if member.weights is None else str(self.evolution.member_folder(*member.weights).absolute()),
            "population": population,
            "source": self.source,
            "hyperparameters": member.hyperparameters,
            "steps": member.steps + max(1, images // batch_size),
            "generation": number,
            "member": member.id,
            "seed": self.evolution.seed,
        }
        return Task(member.id, population.trainer, arguments, self.plugins)


def _run(engine: Engine, tasks: Iterable[Task]) -> Iterable[Outcome]:
    for task in tasks:
        engine.submit(task)
    while engine.waiting:
        yield from engine.wait()


def _result(member: Member, value: dict[str, Any]) -> Result:
    return Result(
        member.id,
        member.hyperparameters,
        value["score"],
        tuple(value.get("per_model", ())),
        member.weights,
        value["steps"],
        tuple(value.get("runs", ())),
        value.get("retries", 0),
        value.get("error"),
        value.get("diverged", False),
    )


def _raise_if_all_failed(evolution: Evolution, results: Sequence[Result]) -> None:
    """If nothing works at all, the settings are wrong; divergence is normal."""
    errors = [result.error for result in results if result.error and not result.diverged]
    if len(errors) == len(results):
        shutil.rmtree(evolution.folder / "generations" / f"{len(evolution.generations):03d}", ignore_errors=True)
        raise UsageError(f"every member of {evolution.folder} failed, for example: {errors[0]}")


def _prune(evolution: Evolution, members: Sequence[Member]) -> None:
    """Remove the weights that neither a member nor the best one so far has; a running generation stays."""
    kept = {evolution.member_folder(*member.weights) for member in members if member.weights is not None}
    with contextlib.suppress(UsageError):
        best = evolution.best
        kept.add(evolution.member_folder(best.generation, best.result.member))
        link = evolution.folder / "best"
        link.unlink(missing_ok=True)
        link.symlink_to(best.runs[0].parent.relative_to(evolution.folder))
    for number in range(len(evolution.generations)):
        place = evolution.folder / "generations" / f"{number:03d}"
        for found in place.glob("member-*"):
            if found not in kept:
                shutil.rmtree(found)
        with contextlib.suppress(OSError):
            place.rmdir()


def _open_or_begin(folder: Path, population: Population, data: ImageDataset, seed: int) -> Evolution:
    settings = replace(population, images=population.images or len(data))
    description = {**describe_data(data), "part": Source.of(data).fingerprint()}
    asked = Evolution(folder, settings, seed, description)
    if not (folder / RECORD).exists():
        asked.save()
        return asked
    stored = open_evolution(folder)
    before, now = (
        dataclasses.asdict(found.population) | {"seed": found.seed, "score": without_place(found.population.score)}
        for found in (stored, asked)
    )
    for key, value in now.items():
        if key not in BUDGET and before[key] != value:
            raise UsageError(
                f"{folder} holds a population with {key} = {before[key]!r}, now asked for {value!r}; "
                "give this one its own folder (--out)"
            )
    for key in ("fingerprint", "images", "part"):
        if stored.data[key] != description[key]:
            raise UsageError(f"{folder} holds a population trained on other images; give this one its own folder")
    stored.population = settings
    return stored


def check_population(population: Population, data: ImageDataset) -> None:
    """Find out now what would make every member fail."""
    function, _ = find_score(population.score)
    if function in (mig_score, dci_score):
        data.factors([0])
    if population.trainer == Population.trainer:
        values = {name: found.values[0] for name, found in population.searched.items()}
        population.make_objective(values).make_model(problem_of(data), torch.Generator())

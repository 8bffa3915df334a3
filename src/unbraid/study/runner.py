"""Carry out a study: every run trained and measured once, by any number of processes, machines and attempts."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from unbraid.data import ImageDataset, load, make_stream
from unbraid.engines import Engine, Outcome, ProcessEngine, Task
from unbraid.errors import UsageError
from unbraid.progress import Progress, ProgressKind
from unbraid.study.folder import State, StudyFolder, begin_study
from unbraid.study.grid import TRAINING, RunSpec, Study
from unbraid.study.method import batch_size_of, objective_of
from unbraid.training import check_batch, problem_of

__all__ = ["Coverage", "Stage", "coverage", "run_study"]

Stage = Literal["train", "evaluate"]

READY = ("trained", "evaluated")
POLL = 0.5
"""Seconds between two looks at runs that another process is at."""


@dataclass(frozen=True)
class Coverage:
    """Where the runs of a study stand."""

    states: dict[int, State]
    errors: dict[int, str]
    """Why runs failed."""

    def count(self, state: State) -> int:
        return Counter(self.states.values())[state]

    def missing(self) -> list[int]:
        """Runs without scores."""
        return [index for index, state in self.states.items() if state != "evaluated"]


def coverage(folder: StudyFolder, indices: Iterable[int] | None = None) -> Coverage:
    """Look at the files of a study's runs."""
    chosen = range(len(folder.study)) if indices is None else indices
    states = {index: folder.state(index) for index in chosen}
    failures = {index: folder.failure(index) or {} for index, state in states.items() if state == "failed"}
    return Coverage(states, {index: str(failure.get("error", "unknown")) for index, failure in failures.items()})


def run_study(
    study: Study,
    out: str | Path,
    *,
    engine: Engine | None = None,
    indices: Sequence[int] | None = None,
    stages: Sequence[Stage] = ("train", "evaluate"),
    retry_failed: bool = False,
    reevaluate: bool = False,
    plugins: Sequence[str] = (),
    progress: ProgressKind = "auto",
) -> StudyFolder:
    """Train and measure the runs of a study (or those at ``indices``) that are not done yet.

    The same call again goes on where an earlier one stopped, also after ``kill -9``. Several calls may work in one
    folder at once: a run is done by one of them, and a run that a dead one left is taken over. A run that fails is
    recorded in ``failures/`` with its error and left alone until ``retry_failed``. With ``reevaluate`` every run is
    asked all measures again; answers that lie there and still hold are read, not computed. What comes out does not
    depend on the engine or on its number of workers. Without an engine, one process per core does the work.
    """
    chosen = list(range(len(study)) if indices is None else indices)
    if not set(chosen) <= set(range(len(study))):
        raise UsageError(f"indices must lie in 0..{len(study) - 1}, got {min(chosen)}..{max(chosen)}")
    if not stages or not set(stages) <= {"train", "evaluate"}:
        raise UsageError(f"stages must be 'train', 'evaluate' or both, got {stages}")
    folder = begin_study(Path(out), study, reevaluate=reevaluate)
    if "train" not in stages:
        chosen = [index for index in chosen if folder.progress(index) in ("trained", "evaluated")]
    if reevaluate and "evaluate" in stages:
        for index in chosen:
            folder.forget_scores(index)
    with _terminate_like_interrupt(), engine or ProcessEngine() as pool:
        _Runner(folder, pool, chosen, stages, retry_failed, plugins).run(progress)
    return folder


class _Runner:
    def __init__(
        self,
        folder: StudyFolder,
        engine: Engine,
        indices: list[int],
        stages: Sequence[Stage],
        retry_failed: bool,
        plugins: Sequence[str],
    ) -> None:
        self.folder, self.engine, self.stages, self.plugins = folder, engine, stages, tuple(plugins)
        self.queue: deque[int] = deque()
        self.running: dict[tuple[int, Stage], str] = {}
        self.left: dict[int, int] = {}
        """Stages still to do of each run."""
        self.total, self.done, self.failed = len(indices), 0, 0
        for index in indices:
            state = folder.state(index)
            if state == "failed" and retry_failed:
                folder.forget_failure(index)
                state = folder.state(index)
            if state == "failed":
                self.failed += 1
            elif (stage := self._next(state)) is None:
                self.done += 1
            else:
                self.queue.append(index)
                self.left[index] = len(stages) if stage == "train" else 1

    def run(self, progress: ProgressKind) -> None:
        """Hand out work until none is left."""
        _check_inputs(self.folder.study, self.queue)
        self.display = Progress(
            self.folder.study.name, self.total, unit="runs", kind=progress, start=self.done, part=self._part()
        )
        busy: deque[int] = deque()
        looked = time.monotonic()
        try:
            while self.queue or busy or self.engine.waiting:
                self._show()
                while self.engine.free and self.queue:
                    index = self.queue.popleft()
                    if not self._hand_out(index):
                        busy.append(index)
                for outcome in self.engine.wait(POLL):
                    if not self._take(outcome):
                        busy.append(outcome.key[0])
                if busy and time.monotonic() - looked > POLL:
                    self.queue.extend(busy)
                    busy.clear()
                    looked = time.monotonic()
                elif not self.engine.waiting and not self.queue and busy:
                    time.sleep(POLL / 5)
            self._show()
        finally:
            self.display.close()

    def _show(self) -> None:
        failed = f", {self.failed} failed" if self.failed else ""
        note = f"{len(self.running)} running{failed}"
        self.display.update(self.done, part=self._part(), note=note, running=self.running.values())

    def _part(self) -> float:
        """The share of all stages that are over: a run half done counts for half."""
        every = max(self.total * len(self.stages), 1)
        return 1 - sum(self.left.values()) / every

    def _next(self, state: State) -> Stage | None:
        """What to do with a run in this state."""
        if state in ("pending", "started"):
            return "train" if "train" in self.stages else None
        return "evaluate" if state == "trained" and "evaluate" in self.stages else None

    def _hand_out(self, index: int) -> bool:
        """Start the next stage of a run; false if another process is at it."""
        if self.folder.claimed(index):
            return False
        state = self.folder.state(index)  # another runner may have been here
        stage = self._next(state) if state != "failed" else None
        if stage is None:
            self._close(index, failed=state == "failed")
            return True
        begin = self.folder.study[index].after
        if stage == "train" and begin is not None and self.folder.progress(begin) not in READY:
            if self.folder.state(begin) != "failed" and (begin in self.left or self.folder.claimed(begin)):
                return False  # it is its turn first
            words = f"run {begin:05d}, which it begins from, has not been trained"
            self.folder.record_failure(index, stage, f"{words}; train that one, then --retry-failed", "")
            self.display.tell(f"run {index:05d} cannot begin: {words}")
            self.left[index] -= 1
            self._close(index, failed=True)
            return True
        function = f"unbraid.study.stages:{stage}_index"
        arguments = {"folder": str(self.folder.path.absolute()), "index": index}
        self.engine.submit(Task((index, stage), function, arguments, self.plugins))
        self.running[index, stage] = f"{index:05d} {stage} {_words(self.folder.study[index])}"
        return True

    def _take(self, outcome: Outcome) -> bool:
        """Note how a stage ended; false if another process turned out to be at this run."""
        index, stage = outcome.key
        self.running.pop((index, stage))
        if outcome.value == "busy":
            return False
        self.left[index] -= 1
        error = outcome.error
        if outcome.value == "stopped":
            error = "training was asked to stop from outside (SIGTERM); --retry-failed goes on with it"
        if error is not None:
            self.folder.record_failure(index, stage, error, outcome.traceback)
            self.display.tell(f"run {index:05d} failed to {stage} ({_words(self.folder.study[index])}): {error}")
            self._close(index, failed=True)
        elif self._next(self.folder.state(index)) is None:
            self._close(index, failed=False)
        else:
            self.queue.appendleft(index)
        return True

    def _close(self, index: int, *, failed: bool) -> None:
        self.left.pop(index)
        self.failed += failed
        self.done += not failed


def _words(spec: RunSpec) -> str:
    return f"{spec.method} on {spec.data}, seed {spec.seed}"


def _check_inputs(study: Study, indices: Iterable[int]) -> None:
    """Load (and render, where needed) every data set and build every kind of model, before workers are sent off."""
    wanted: dict[str, dict[Any, RunSpec]] = {}
    for index in indices:
        spec = study[index]
        wanted.setdefault(spec.data_set, {}).setdefault((spec.objective, spec.net, spec.pairs, spec.batch_size), spec)
    others: list[tuple[str, ImageDataset]] = []
    for entry in study.measures if wanted else ():
        key = f"{study.source}: measures.{entry.measure.name}.data"
        others += [(key, _load(name, key)) for name in entry.data if name != TRAINING]
    for name, specs in wanted.items():
        data = _load(name, f"{study.source}: data")
        for key, other in others:
            if other.shape != data.shape:
                raise UsageError(f"{key}: {other.name} has the shape {other.shape}, models of {name} take {data.shape}")
        for spec in specs.values():
            try:
                objective = objective_of(spec)
                objective.make_model(problem_of(data), torch.Generator())
                check_batch(batch_size_of(spec, objective), data.shape)
                make_stream(objective.needs, data, batch_size_of(spec, objective), spec.seed)
            except UsageError as error:
                raise UsageError(f"{study.source}: objectives.{spec.objective} on {name}: {error}") from error


def _load(name: str, key: str) -> ImageDataset:
    try:
        return load(name)
    except UsageError as error:
        raise UsageError(f"{key}: {error}") from error


@contextlib.contextmanager
def _terminate_like_interrupt() -> Iterator[None]:
    """SIGTERM stops a study as cleanly as Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

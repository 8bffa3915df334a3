"""The one interface behind which tasks run: hand in, wait for what is finished, whatever machine did it."""

from __future__ import annotations

import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, Self

from unbraid import plugins
from unbraid.errors import UsageError, unknown_name

__all__ = ["Engine", "EngineName", "Outcome", "Task", "describe_error", "make_engine", "perform"]

EngineName = Literal["process", "ray"]

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""What tells numerical libraries to use one thread; must be set before they are loaded."""


@dataclass(frozen=True)
class Task:
    """A function by its path and plain arguments: all that another process or machine needs to carry it out."""

    key: Any
    """What the caller knows it by; comes back with the outcome."""
    function: str
    """``package.module:name``."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()
    """Python files to import first (they register own objectives, networks and data sets)."""


@dataclass(frozen=True)
class Outcome:
    """How a task ended: with a value, or with an error that did not stop the others."""

    key: Any
    value: Any = None
    error: str | None = None
    """One line; ``None`` if all went well."""
    traceback: str = ""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.error is None


class Engine(ABC):
    """Carries out tasks, ``workers`` at a time. Leaving its ``with`` block stops what is still running.

    The outcome of a task does not depend on the engine: each task is carried out by one thread, and takes its random
    numbers from its arguments.
    """

    workers: int

    @abstractmethod
    def submit(self, task: Task) -> None:
        """Hand in a task; it starts when a worker is free."""

    @abstractmethod
    def wait(self, timeout: float | None = None) -> list[Outcome]:
        """The outcomes that came since the last call: at least one, unless time ran out or nothing is under way."""

    @property
    @abstractmethod
    def waiting(self) -> int:
        """How many tasks are handed in and not yet told of by :meth:`wait`."""

    @abstractmethod
    def close(self) -> None:
        """Ask running tasks to stop (training saves a checkpoint) and forget all that are waiting."""

    @property
    def free(self) -> int:
        """How many more tasks would start at once."""
        return max(0, self.workers - self.waiting)

    def run(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Carry out tasks and give their outcomes in the order in which they end."""
        for task in tasks:
            self.submit(task)
        while self.waiting:
            yield from self.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def make_engine(name: EngineName = "process", *, workers: int | None = None, address: str | None = None) -> Engine:
    """An engine by name: ``process`` for this machine, ``ray`` for a cluster (a local one without an address)."""
    if name == "process":
        if address is not None:
            raise UsageError(f"address {address!r} is for the engine 'ray'; the process pool stays on this machine")
        from unbraid.engines.processes import ProcessEngine

        return ProcessEngine(workers)
    if name == "ray":
        from unbraid.engines.cluster import RayEngine

        return RayEngine(address, workers)
    raise unknown_name("engine", name, ("process", "ray"))


def check_workers(workers: int | None) -> int | None:
    """A number of workers, or an error."""
    if workers is not None and workers < 1:
        raise UsageError(f"workers must be at least 1, got {workers}")
    return workers


def perform(task: Task) -> Outcome:
    """Carry out a task in this process; whatever it raises becomes part of the outcome."""
    began = time.perf_counter()
    try:
        for file in task.plugins:
            plugins.import_file(file)
        module, _, name = task.function.partition(":")
        value = getattr(import_module(module), name)(**task.arguments)
        return Outcome(task.key, value, seconds=time.perf_counter() - began)
    except BaseException as error:
        return Outcome(
            task.key,
            error=describe_error(error),
            traceback=traceback.format_exc(),
            seconds=time.perf_counter() - began,
        )


def describe_error(error: BaseException) -> str:
    """An exception in one line; those meant for people without the name of their class."""
    text = " ".join(str(error).split())
    return text if isinstance(error, UsageError) and text else f"{type(error).__name__}: {text}".rstrip(": ")

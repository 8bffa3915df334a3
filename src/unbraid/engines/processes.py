"""A pool of processes on this machine: one fresh process and one thread per task.

A fork server imports torch once; a worker is forked from it in a few hundredths of a second, so every task starts from
the same clean state and takes nothing down with it when it crashes. One thread each: on the study's models two
one-thread processes do more than one two-thread process (see ``benchmarks/study.py``), and bits depend on the
number of threads.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from unbraid.engines.engine import THREADS, Engine, Outcome, Task, check_workers, perform
from unbraid.errors import UsageError
from unbraid.training import GRACE, cause_of_death, numerics

__all__ = ["ProcessEngine"]

PATIENCE = (0.1, 1.0)
"""Seconds before a worker is started a second and a third time."""

LOST = 255
"""The exit code of which Python's fork server could not tell."""

GUARD = 'In a script of your own, put what starts work below `if __name__ == "__main__":` (workers import the script)'


@dataclass
class _Worker:
    task: Task
    process: BaseProcess
    receiver: Connection
    began: float = field(default_factory=time.perf_counter)


class ProcessEngine(Engine):
    """Tasks on this machine; ``workers`` defaults to the number of cores.

    A worker that crashes or is killed makes its own task fail and no other. Workers notice when the process that
    started them dies, even by ``kill -9``, and stop as if asked to.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = check_workers(workers) or numerics.cores()
        self._queue: deque[Task] = deque()
        self._running: dict[Connection, _Worker] = {}
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["unbraid.engines._warm"])

    def submit(self, task: Task) -> None:
        self._queue.append(task)
        self._fill()

    @property
    def waiting(self) -> int:
        return len(self._queue) + len(self._running)

    def wait(self, timeout: float | None = None) -> list[Outcome]:
        self._fill()
        ready = connection.wait(list(self._running), timeout) if self._running else []
        outcomes = [self._collect(self._running.pop(receiver)) for receiver in ready]  # type: ignore[call-overload]
        self._fill()
        return outcomes

    def close(self) -> None:
        self._queue.clear()
        workers = list(self._running.values())
        self._running.clear()
        try:
            for worker in workers:
                worker.process.terminate()
            deadline = time.monotonic() + GRACE
            for worker in workers:
                worker.process.join(max(0.0, deadline - time.monotonic()))
        finally:  # also when a second Ctrl-C cuts the grace short
            for worker in workers:
                worker.process.kill()
                worker.process.join()
                worker.receiver.close()

    def _fill(self) -> None:
        while self._queue and len(self._running) < self.workers:
            worker = self._start(self._queue.popleft())
            self._running[worker.receiver] = worker

    def _start(self, task: Task) -> _Worker:
        for wait in (*PATIENCE, None):
            try:
                return self._start_once(task)
            except (OSError, EOFError) as error:
                if wait is None:
                    raise UsageError(
                        f"cannot start a worker process: {error}; try fewer --workers, or run the same command again"
                    ) from error
                time.sleep(wait)  # the fork server was killed: the next try finds it dead and starts another
            except RuntimeError as error:
                if "bootstrapping" in str(error):
                    raise UsageError(f"this script starts work while it is being imported. {GUARD}") from None
                raise
        raise AssertionError("the last try returns or raises")

    def _start_once(self, task: Task) -> _Worker:
        receiver, sender = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_work, args=(sender, task), name=f"unbraid {task.key}", daemon=True)
        try:
            with _one_thread():
                process.start()
        except BaseException:
            receiver.close()
            raise
        finally:
            sender.close()  # the worker alone holds it: its death ends the pipe
        return _Worker(task, process, receiver)

    def _collect(self, worker: _Worker) -> Outcome:
        seconds = time.perf_counter() - worker.began
        try:
            outcome: Outcome = worker.receiver.recv()
        except (EOFError, OSError):
            worker.process.join()
            outcome = Outcome(worker.task.key, error=_cause(worker.process.exitcode), seconds=seconds)
        worker.process.join(GRACE)
        worker.process.kill()
        worker.process.join()
        worker.receiver.close()
        return outcome


def _cause(code: int | None) -> str:
    cause = cause_of_death(code, "try fewer --workers")
    if code == LOST:
        lost = "the worker process was lost with the fork server that watched it (out of memory?)"
        return f"{lost}; run the same command again"
    return f"{cause}. {GUARD}" if code == 1 else cause


def _work(sender: Connection, task: Task) -> None:
    os.setpgid(0, 0)  # a Ctrl-C in the terminal is for the runner, which asks its workers to stop
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    outcome = perform(task)
    try:
        sender.send(outcome)
    except Exception as error:
        sender.send(Outcome(task.key, error=f"the result cannot be sent back: {error}", seconds=outcome.seconds))
    sender.close()


def _stop_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(1)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """The fork server reads these when it starts; this process keeps its own."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value

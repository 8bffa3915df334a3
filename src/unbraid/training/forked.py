"""Several trainings at once, each in a forked copy of this process: nothing need be sent there, memory is shared."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from unbraid.errors import UsageError
from unbraid.training import numerics
from unbraid.training.loop import stop_requests

__all__ = ["GRACE", "can_fork", "cause_of_death", "in_processes"]

GRACE = 20.0
"""Seconds a training gets to save its checkpoint before it is killed."""

_PR_SET_PDEATHSIG = 1  # from linux/prctl.h


def can_fork() -> bool:
    """Whether copies of this process can train: on Linux, on the CPU, not from a worker that must have no children."""
    return sys.platform == "linux" and numerics.device().type == "cpu" and not multiprocessing.current_process().daemon


def in_processes(jobs: Sequence[Callable[[], Any]]) -> None:
    """Carry out all jobs at once. The first that fails makes the others stop, and its error is raised here.

    A request to stop (Ctrl-C, SIGTERM) is passed on to the jobs, which save and end; so does the death of this process.
    """
    running: dict[Connection, BaseProcess] = {}
    failure: BaseException | None = None
    deadline: float | None = None
    try:
        with stop_requests() as stop:
            for job in jobs:
                receiver, process = _start(job)
                running[receiver] = process
            while running:
                if deadline is None and (stop() or failure):
                    deadline = time.monotonic() + GRACE
                    for process in running.values():
                        process.terminate()
                if deadline is not None and time.monotonic() > deadline:
                    break
                ready = connection.wait(list(running), 0.1)
                for receiver in [found for found in running if found in ready]:
                    error = _result(receiver, running.pop(receiver))
                    failure = failure or error
    finally:
        for receiver, process in running.items():
            process.kill()
            process.join()
            receiver.close()
    if failure:
        raise failure


def _start(job: Callable[[], Any]) -> tuple[Connection, BaseProcess]:
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(job, sender, os.getpid()), daemon=True)
    with warnings.catch_warnings():
        # Forking is unsafe for those who go on to use threads; training has one.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    sender.close()  # the copy alone holds it: its death ends the pipe
    return receiver, process


def _work(job: Callable[[], Any], sender: Connection, parent: int) -> None:
    os.setpgid(0, 0)  # a Ctrl-C in the terminal is for the parent, which passes it on
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        return
    try:
        job()
    except BaseException as error:
        try:
            sender.send(error)
        except Exception:  # it cannot be pickled
            sender.send(RuntimeError(f"{type(error).__name__}: {error}"))
    else:
        sender.send(None)


def _result(receiver: Connection, process: BaseProcess) -> BaseException | None:
    """The error a copy ended with, if any."""
    try:
        error: BaseException | None = receiver.recv()
    except EOFError:
        process.join()
        error = None if process.exitcode == -signal.SIGTERM else UsageError(cause_of_death(process.exitcode))
    except Exception as unreadable:
        error = RuntimeError(f"a training process failed with an error that cannot be read: {unreadable}")
    process.join()
    receiver.close()
    return error


def cause_of_death(code: int | None) -> str:
    """What the exit code of a process says that ended before it gave a result."""
    if code is not None and code < 0:
        name = signal.Signals(-code).name if -code in {s.value for s in signal.Signals} else f"signal {-code}"
        hint = " (out of memory? try fewer --workers)" if -code == signal.SIGKILL else ""
        return f"the worker process was ended by {name}{hint}"
    return f"the worker process ended with exit code {code} before it gave a result"

"""Several trainings at once, each in a forked copy of this process: nothing need be sent there, memory is shared."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from unbraid.errors import UsageError
from unbraid.training import numerics
from unbraid.training.loop import stop_requests

__all__ = ["GRACE", "cause_of_death", "in_processes", "why_not_fork"]

GRACE = 20.0
"""Seconds a training gets to save its checkpoint before it is killed."""

_PR_SET_PDEATHSIG = 1  # from linux/prctl.h
_STOP = (signal.SIGINT, signal.SIGTERM)


def why_not_fork() -> str | None:
    """What keeps copies of this process from training; ``None`` if nothing does."""
    if sys.platform != "linux":
        return "it takes Linux"
    if numerics.device().type != "cpu":
        return "it takes training on the CPU"
    if multiprocessing.current_process().daemon:
        return "this process is itself a worker that must not start others"
    return None


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
                # The pipe alone would not do: another thread's copy of this process may hold its other end.
                ready = connection.wait([*running, *(process.sentinel for process in running.values())], 0.1)
                for receiver, process in list(running.items()):
                    if receiver in ready or process.sentinel in ready:
                        error = _result(receiver, process, asked=deadline is not None)
                        del running[receiver]
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
    try:
        # A request to stop must not find this process's handlers in the copy. Forking is unsafe for those who go on
        # to use threads; training has one.
        with _blocked(), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
    except OSError as error:
        receiver.close()
        raise UsageError(f"cannot start a training process: {error}; try a smaller processes=") from error
    finally:
        sender.close()  # the copy alone holds it: its death ends the pipe
    return receiver, process


@contextmanager
def _blocked() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOP)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(job: Callable[[], Any], sender: Connection, parent: int) -> None:
    os.setpgid(0, 0)  # a Ctrl-C in the terminal is for the parent, which passes it on
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        return
    try:
        job()
    except BaseException as error:
        sender.send(_portable(error))
    else:
        sender.send(None)


def _portable(error: BaseException) -> BaseException:
    """An error as another process can read it, with the traceback as a note."""
    text = traceback.format_exc()
    try:
        same: BaseException = pickle.loads(pickle.dumps(error))  # trusted: it was made here
    except Exception:
        same = RuntimeError(f"{type(error).__name__}: {error}")
    same.add_note(f"in a training process:\n{text}")
    return same


def _result(receiver: Connection, process: BaseProcess, asked: bool) -> BaseException | None:
    """The error a copy ended with, if any; one that was asked to stop may end by the signal itself."""
    error: BaseException | None = None
    try:
        # After the death of the process an answer is in the pipe, or never comes.
        died = not receiver.poll()
        if not died:
            error = receiver.recv()
    except EOFError:
        died = True
    process.join()
    receiver.close()
    if died and not (asked and process.exitcode == -signal.SIGTERM):
        return UsageError(cause_of_death(process.exitcode, "try a smaller processes="))
    return error


def cause_of_death(code: int | None, hint: str) -> str:
    """What the exit code of a process says that ended before it gave a result, with what to try if memory ran out."""
    if code is not None and code < 0:
        name = signal.Signals(-code).name if -code in {s.value for s in signal.Signals} else f"signal {-code}"
        advice = f" (out of memory? {hint})" if -code == signal.SIGKILL else ""
        return f"the worker process was ended by {name}{advice}"
    return f"the worker process ended with exit code {code} before it gave a result"

"""Ray as a remote task pool: the same tasks on many machines."""

from __future__ import annotations

import contextlib
import os
import socket
from typing import Any

from unbraid.engines.engine import THREADS, Engine, Outcome, Task, check_workers, describe_error, perform
from unbraid.errors import UsageError
from unbraid.training import numerics

__all__ = ["RayEngine"]

LOCAL = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
"""Read by Ray when it is imported: stay on the loopback interface (despite its name, on Linux too), report nothing."""


class RayEngine(Engine):
    """Tasks on a Ray cluster (``pip install 'unbraid[ray]'``), one core each.

    Without an ``address`` a Ray of its own is started on this machine, reachable from this machine only. On a cluster
    unbraid must be installed on every node, and folders named by the tasks must be on a file system all nodes share.
    ``workers`` bounds how many tasks are under way at once (default: all cores of the cluster).
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        check_workers(workers)
        if address is None:
            os.environ.update(LOCAL)
        self._ray = ray = _import_ray()
        self._owned = not ray.is_initialized()
        if self._owned:
            self._start(address, workers)
        self.workers = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        # A task is tried once: a crash is for the caller to record. Ray gives each one thread per core it asked for.
        self._remote = ray.remote(num_cpus=1, max_retries=0)(perform)
        self._queue: list[Task] = []
        self._running: dict[Any, Task] = {}

    def _start(self, address: str | None, workers: int | None) -> None:
        common: dict[str, Any] = {
            "log_to_driver": False,
            "logging_level": "ERROR",
            "runtime_env": {"env_vars": dict.fromkeys(THREADS, "1")},
        }
        try:
            if address is not None:
                _answers(address)
                self._ray.init(address=address, **common)
                return
            self._ray.init(
                address="local",
                num_cpus=workers or numerics.cores(),
                include_dashboard=False,
                **common,
            )
        except (OSError, RuntimeError, ValueError) as error:
            where = f"join the Ray cluster at {address!r}" if address else "start a local Ray"
            raise UsageError(f"cannot {where}: {' '.join(str(error).split())}") from error

    def submit(self, task: Task) -> None:
        self._queue.append(task)
        self._fill()

    @property
    def waiting(self) -> int:
        return len(self._queue) + len(self._running)

    def wait(self, timeout: float | None = None) -> list[Outcome]:
        self._fill()
        if not self._running:
            return []
        ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=timeout)
        outcomes = [self._collect(reference) for reference in ready]
        self._fill()
        return outcomes

    def close(self) -> None:
        self._queue.clear()
        running = list(self._running)
        self._running.clear()
        for reference in running:
            with contextlib.suppress(self._ray.exceptions.RayError, ValueError):
                self._ray.cancel(reference, force=False)  # interrupts it; training then saves a checkpoint
        if running:
            self._ray.wait(running, num_returns=len(running), timeout=20)
        if self._owned and self._ray.is_initialized():
            self._ray.shutdown()

    def _fill(self) -> None:
        while self._queue and len(self._running) < self.workers:
            task = self._queue.pop(0)
            self._running[self._remote.remote(task)] = task

    def _collect(self, reference: Any) -> Outcome:
        task = self._running.pop(reference)
        try:
            outcome: Outcome = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            return Outcome(task.key, error=f"the worker was lost: {describe_error(error)}")
        return outcome


def _answers(address: str) -> None:
    """Raise at once if nobody listens at ``host:port``: Ray itself would wait for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    elif address != "auto":
        raise ValueError("expected HOST:PORT, ray://HOST:PORT or auto")


def _import_ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise UsageError(
            "the engine 'ray' needs Ray: pip install 'unbraid[ray]'; without it use --engine process"
        ) from error
    return ray

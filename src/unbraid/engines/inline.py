"""Tasks one after the other in this very process: for debugging, and for tests."""

from __future__ import annotations

from collections import deque

from unbraid.engines.engine import Engine, Outcome, Task, perform

__all__ = ["InlineEngine"]


class InlineEngine(Engine):
    """Carries out one task per call of :meth:`wait`; Ctrl-C interrupts it like any other code."""

    workers = 1

    def __init__(self) -> None:
        self._queue: deque[Task] = deque()

    def submit(self, task: Task) -> None:
        self._queue.append(task)

    def wait(self, timeout: float | None = None) -> list[Outcome]:
        if not self._queue:
            return []
        outcome = perform(self._queue.popleft())
        if (outcome.error or "").startswith("KeyboardInterrupt"):
            raise KeyboardInterrupt
        return [outcome]

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def close(self) -> None:
        self._queue.clear()

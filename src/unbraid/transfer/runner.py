"""Carry out a matrix: every recipe trained once, every number measured once, by any number of processes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unbraid.engines import Engine, Outcome, ProcessEngine, Task
from unbraid.errors import UsageError
from unbraid.progress import Progress, ProgressKind
from unbraid.transfer.folder import MatrixFolder, begin_matrix
from unbraid.transfer.plan import Cell, Plan, RunKey

__all__ = ["expected_hours", "run_matrix"]

POLL = 0.5


def expected_hours(folder: MatrixFolder, plan: Plan | None = None, known: MatrixFolder | None = None) -> float:
    """Hours of one core that what is missing, of all or of a plan that is part of it, will take, about.

    Cells that another folder holds, which are taken over from there, are none of it.
    """
    cells = [cell for cell in folder.missing(plan) if known is None or known.cell(cell) is None]
    keys = {folder.plan.run_key(cell) for cell in cells}
    fitted = [key for key in keys if any(folder.run(key).glob("readouts/*/run.json"))]
    return folder.plan.hours([key for key in keys if not folder.trained(key)], cells, fitted)


def run_matrix(
    plan: Plan,
    out: str | Path,
    *,
    engine: Engine | None = None,
    plugins: Sequence[str] = (),
    progress: ProgressKind = "auto",
    retry_failed: bool = False,
) -> MatrixFolder:
    """Train and ask what is missing; the same call again, or several at once, go on where others stopped.

    What is there is not done again: a new bias adds a row, a new scenario a column, and a folder may be filled block by
    block, one domain or seed after the other: what an earlier plan left open stays so. A run or a cell that fails is
    recorded and left alone until ``retry_failed``. What comes out does not depend on the engine or its workers.
    """
    folder = begin_matrix(out, plan)
    for domain in plan.domains:
        if not any(not plan.refused(domain, bias) for bias in plan.biases):
            raise UsageError(f"no bias can be trained on {domain}: {plan.refused(domain, plan.biases[0])}")
    cells: dict[RunKey, list[Cell]] = {}
    for cell in folder.missing(plan):
        cells.setdefault(plan.run_key(cell), []).append(cell)
        if retry_failed:
            folder.forgive(plan.run_key(cell))
            folder.forgive(cell)
    folder.check_run(*cells)
    with engine or ProcessEngine() as pool:
        _Runner(folder, pool, cells, tuple(plugins)).run(progress)
    return folder


class _Runner:
    def __init__(
        self, folder: MatrixFolder, engine: Engine, cells: dict[RunKey, list[Cell]], plugins: tuple[str, ...]
    ) -> None:
        self.folder, self.engine, self.plugins = folder, engine, plugins
        self.cells = {key: [cell for cell in asked if not folder.failure(cell)] for key, asked in cells.items()}
        self.queue = deque(key for key, asked in self.cells.items() if asked and not folder.failure(key))
        self.total, self.done = len(cells), 0
        self.failed = len(cells) - len(self.queue)

    def run(self, progress: ProgressKind) -> None:
        display = Progress(self.folder.plan.name, max(self.total, 1), unit="models", kind=progress)
        busy: deque[RunKey] = deque()
        try:
            while self.queue or busy or self.engine.waiting:
                while self.engine.free and self.queue:
                    self._submit(self.queue.popleft())
                for outcome in self.engine.wait(POLL):
                    self._take(outcome, busy, display)
                display.update(self.done, note=f"{self.engine.waiting} at work" + self._failures())
                if busy and not self.queue and not self.engine.waiting:
                    time.sleep(POLL)
                    self.queue.extend(busy)
                    busy.clear()
            display.update(self.done, note=self._failures().removeprefix(", "))
        finally:
            display.close()

    def _submit(self, key: RunKey) -> None:
        stage = "ask" if self.folder.trained(key) else "train"
        arguments: dict[str, Any] = {"folder": str(self.folder.path.absolute()), "key": asdict(key)}
        if stage == "ask":
            arguments["cells"] = [asdict(cell) for cell in self.cells[key]]
        self.engine.submit(Task((key, stage), f"unbraid.transfer.work:{stage}_run", arguments, self.plugins))

    def _take(self, outcome: Outcome, busy: deque[RunKey], display: Progress) -> None:
        key, stage = outcome.key
        if outcome.value == "busy":
            busy.append(key)
            return
        error = outcome.error
        if outcome.value == "stopped":
            error = "training was asked to stop from outside (SIGTERM); --retry-failed goes on with it"
        if error is not None:
            if not any(self.folder.failure(cell) for cell in self.cells[key]):  # which says more
                self.folder.fail(key, error, outcome.traceback)
            display.tell(f"{key.path} failed to {stage}: {error}")
            self.failed += 1
        elif stage == "train":
            self.queue.appendleft(key)
        else:
            self.done += 1

    def _failures(self) -> str:
        return f", {self.failed} failed" if self.failed else ""

"""What a run's folder gained since its tracker last heard of it, sent once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unbraid.errors import UsageError, UsageWarning
from unbraid.training.history import read_table
from unbraid.training.run import EVALUATIONS, HISTORY
from unbraid.training.tracking.base import Tracker, sent_later

__all__ = ["Feed", "Rows"]

Rows = list[tuple[int, dict[str, float]]]
"""Steps and their numbers."""


class Feed:
    """Tells one tracker of one run; how far it came stands under ``tracking`` in the run's record, ``info``.

    Rows are sent after the checkpoint that holds them, and noted before: whenever the process is killed, none is sent
    twice, also not after the run went back to that checkpoint. A tracker that fails is told of by one warning and left
    alone, or with ``strict`` by an error.
    """

    def __init__(
        self, name: str, tracker: Tracker, folder: Path, info: dict[str, Any], *, strict: bool = False
    ) -> None:
        self.name, self.tracker, self.folder, self.info, self.strict = name, tracker, folder, info, strict
        self.alive, self._reached = False, 0

    @property
    def entry(self) -> dict[str, Any]:
        """What the run's record says of this tracker: its id, the last step that was sent, and other things sent."""
        return self.info["tracking"][self.name]

    def start(self) -> None:
        """Let the tracker begin or go on; the caller writes the record afterwards."""
        entries = self.info.get("tracking", {})
        before = entries.get(self.name, {}).get("id")
        self.alive = True
        found = self.tell(self.tracker.start, self.folder, self.info, before)
        if self.alive:
            # Own classes may return anything; what is not text could not be read again.
            entry = {"step": 0, **entries.get(self.name, {}), "id": str(found)}
            self.info["tracking"] = {**entries, self.name: entry}

    def take(self) -> Rows:
        """The rows that are new; from now on the record says that they were sent."""
        return self.tell(self._new) or []

    def _new(self) -> Rows:
        rows: dict[int, dict[str, float]] = {}
        for row in read_table(self.folder / HISTORY).iter_rows(named=True):
            numbers = {name: float(value) for name, value in row.items() if name != "step" and value is not None}
            rows.setdefault(int(row["step"]), {}).update(numbers)
        for row in read_table(self.folder / EVALUATIONS).iter_rows(named=True):
            rows.setdefault(int(row["step"]), {})[str(row["name"])] = float(row["value"])
        new = sorted((step, numbers) for step, numbers in rows.items() if step > self.entry["step"])
        self._reached = self.entry["step"]
        if new:
            self.entry["step"] = new[-1][0]
        return new

    def send(self, rows: Rows) -> None:
        """Send what :meth:`take` gave; where the tracker fails, the record goes back to what it had got."""
        try:
            for step, numbers in rows:
                self.tell(self.tracker.log, step, numbers)
                if not self.alive:
                    break
                self._reached = step
        finally:
            if rows:
                self.entry["step"] = self._reached

    def finish(self, status: str) -> None:
        """The tracker hears no more of this run from this process."""
        self.tell(self.tracker.finish, "stopped" if status == "running" else status)
        self.alive = False

    def tell(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Ask the tracker for something, unless it failed before."""
        if not self.alive:
            return None
        try:
            return call(*arguments)
        except Exception as error:  # whatever it is, a training of days must not end by it
            self.alive = False
            what = f"tracker {self.name} failed ({type(error).__name__}: {' '.join(str(error).split())[:300]})"
            if self.strict:
                raise UsageError(what) from error
            warnings.warn(
                UsageWarning(
                    f"{what} and hears no more of this training, which goes on. The run folder has everything: "
                    f"{sent_later(self.name, self.tracker, self.folder)} sends it later"
                ),
                stacklevel=2,
            )
            return None

"""The tables that a training leaves in its folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from unbraid.training.history import Extent, Table, extent_of_bytes
from unbraid.training.run import EVALUATIONS, HISTORY

__all__ = ["Records"]


class Records:
    """``history.csv`` and ``evaluations.csv``, cut back to what a checkpoint's ``state`` remembers of them."""

    def __init__(self, folder: Path, state: Mapping[str, Any]) -> None:
        self.history, self.evaluations = _table(folder / HISTORY, state), _table(folder / EVALUATIONS, state)

    def add(self, step: int, means: Mapping[str, float]) -> None:
        """A row of the history."""
        self.history.append({"step": step, **means})

    def add_evaluations(self, found: Iterable[dict[str, Any]]) -> None:
        """What hooks measured."""
        for row in found:
            self.evaluations.append(row)

    def flush(self) -> dict[str, Extent]:
        """Put all rows on the disk; what a checkpoint must remember of them."""
        return {HISTORY: self.history.flush(), EVALUATIONS: self.evaluations.flush()}

    def close(self) -> None:
        for table in (self.history, self.evaluations):
            with contextlib.suppress(OSError):  # a full disk was reported already
                table.close()


def _table(path: Path, state: Mapping[str, Any]) -> Table:
    """A table cut back to what the checkpoint remembers of it."""
    if "tables" in state:
        rows, columns = state["tables"][path.name]
        return Table(path, (rows, columns))
    return Table(path, extent_of_bytes(path, state.get(f"{path.stem}_bytes", 0)))

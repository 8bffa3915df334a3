"""The tables that a training leaves in its folder, and the same numbers for TensorBoard."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from unbraid.errors import UsageError
from unbraid.training.history import Extent, Table, extent_of_bytes
from unbraid.training.run import EVALUATIONS, HISTORY

__all__ = ["Records", "board_class"]


class Records:
    """``history.csv`` and ``evaluations.csv``, cut back to what a checkpoint's ``state`` remembers of them."""

    def __init__(self, folder: Path, state: Mapping[str, Any], board: Any = None) -> None:
        self.history, self.evaluations = _table(folder / HISTORY, state), _table(folder / EVALUATIONS, state)
        self.board = board

    def add(self, step: int, means: Mapping[str, float]) -> None:
        """A row of the history."""
        self.history.append({"step": step, **means})
        self._show(step, means)

    def add_evaluations(self, step: int, found: Iterable[dict[str, Any]]) -> None:
        """What hooks measured."""
        for row in found:
            self.evaluations.append(row)
            self._show(step, {str(row["name"]): row["value"]})

    def flush(self) -> dict[str, Extent]:
        """Put all rows on the disk; what a checkpoint must remember of them."""
        return {HISTORY: self.history.flush(), EVALUATIONS: self.evaluations.flush()}

    def close(self) -> None:
        for table in (self.history, self.evaluations):
            with contextlib.suppress(OSError):  # a full disk was reported already
                table.close()
        if self.board is not None:
            self.board.close()

    def _show(self, step: int, numbers: Mapping[str, float]) -> None:
        if self.board is not None:
            for name, value in numbers.items():
                self.board.add_scalar(name, value, step)


def _table(path: Path, state: Mapping[str, Any]) -> Table:
    """A table cut back to what the checkpoint remembers of it."""
    if "tables" in state:
        rows, columns = state["tables"][path.name]
        return Table(path, (rows, columns))
    return Table(path, extent_of_bytes(path, state.get(f"{path.stem}_bytes", 0)))


def board_class() -> Callable[..., Any]:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise UsageError("TensorBoard is not installed: pip install 'unbraid[tensorboard]'") from error
    return SummaryWriter

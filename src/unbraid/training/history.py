"""The record of a run's losses: rows appended to a CSV file that a resumed run cuts back to where it goes on."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from unbraid.errors import UsageError

if TYPE_CHECKING:
    import polars

__all__ = ["Means", "Table", "read_table"]


class Table:
    """An append-only CSV file; ``length`` in bytes is what a checkpoint remembers of it."""

    def __init__(self, path: Path, length: int = 0) -> None:
        self.path = path
        if (path.stat().st_size if path.exists() else 0) < length:
            raise UsageError(
                f"{path} is shorter than its checkpoint remembers: it was cut or deleted since. Put it back, or let "
                "--fresh start the run anew"
            )
        self._file = path.open("a+b")
        self._file.truncate(length)
        self._file.seek(0)
        header = self._file.readline().decode().strip()
        self.columns: list[str] | None = header.split(",") if header else None
        self._file.seek(0, os.SEEK_END)

    def append(self, row: Mapping[str, float | int | str]) -> None:
        """Add a row; the first one sets the columns. Floats are written so that they read back exactly."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if self.columns is None:
            self.columns = list(row)
            writer.writerow(self.columns)
        if set(row) != set(self.columns):
            changed = ", ".join(sorted(set(row) ^ set(self.columns)))
            raise UsageError(
                f"{self.path.name} has the columns {', '.join(self.columns)}; at another step {changed} came or went. "
                "An objective must give the same terms at every step; one that is switched off is 0"
            )
        writer.writerow([row[column] for column in self.columns])
        self._file.write(text.getvalue().encode())
        self._file.flush()

    def flush(self) -> int:
        """Put all rows on the disk and return the length."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        self._file.close()


class Means:
    """Running means of named numbers between two rows of the history."""

    def __init__(self, sums: dict[str, float] | None = None, count: int = 0) -> None:
        self.sums, self.count = dict(sums or {}), count

    def add(self, values: dict[str, float]) -> None:
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
        self.count += 1

    def current(self) -> dict[str, float]:
        """The means so far."""
        return {name: total / self.count for name, total in self.sums.items()}

    def take(self) -> dict[str, float]:
        """The means so far, to start anew after."""
        means = self.current()
        self.sums, self.count = {}, 0
        return means


def read_table(path: Path) -> polars.DataFrame:
    """A history as a data frame; empty when nothing was recorded yet."""
    import polars

    if not path.exists() or path.stat().st_size == 0:
        return polars.DataFrame()
    try:
        return polars.read_csv(path)
    except polars.exceptions.PolarsError as error:
        raise UsageError(f"{path} is damaged: {str(error).splitlines()[0]}") from error

"""The record of a run's losses: rows appended to a CSV file that a resumed run cuts back to where it goes on."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.files import open_append, write_bytes
from unbraid.reading import TEXT, parse_csv, read_bytes
from unbraid.sharing import FORMULA

if TYPE_CHECKING:
    import polars

__all__ = ["Extent", "Means", "Table", "extent_of_bytes", "read_table"]

_ANEW = "put it back, or let --fresh start the run anew"

Extent = tuple[int, int]
"""How many rows (without the header) and columns a table has."""


class Table:
    """A CSV file that grows by rows and, where a new name comes up, by columns; cells without a number are empty.

    ``extent`` is what a checkpoint remembers of it: what came after is cut off. A column that comes later rewrites
    the file, under another name first: whenever the process is killed, all that was remembered is there.
    """

    def __init__(self, path: Path, extent: Extent = (0, 0)) -> None:
        self.path = path
        data = read_bytes(path, limit=TEXT, remedy=_ANEW) if path.exists() else b""
        found = _records(data, path)
        rows, columns = extent
        if rows and (len(found) <= rows or len(found[0]) < columns):
            raise UsageError(
                f"{path} is shorter than its checkpoint remembers: it was cut or deleted since. Put it back, or let "
                "--fresh start the run anew"
            )
        kept = [record[:columns] for record in found[: rows + 1]] if rows else []
        if _text(kept) != data or _is_shared(path):
            self._write(kept)
        self.columns: list[str] = kept[0] if kept else []
        self.rows = rows
        self._file = open_append(path)

    @property
    def extent(self) -> Extent:
        return self.rows, len(self.columns)

    def append(self, row: Mapping[str, float | int | str]) -> None:
        """Add a row. Floats are written so that they read back exactly."""
        new = [name for name in row if name not in self.columns]
        for name in (*new, *(value for value in row.values() if isinstance(value, str))):
            if name.startswith(FORMULA):
                raise UsageError(
                    f"{self.path.name}: a spreadsheet takes {name!r} for a formula; begin it with a letter"
                )
        if new:
            self._widen(new)
        self._file.write(_text([[row.get(column, "") for column in self.columns]]))
        self._file.flush()
        self.rows += 1

    def flush(self) -> Extent:
        """Put all rows on the disk and return how many there are."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self.extent

    def close(self) -> None:
        self._file.close()

    def _widen(self, new: Sequence[str]) -> None:
        if not self.columns:
            self.columns = list(new)
            self._file.write(_text([self.columns]))
            return
        self._file.close()
        rows = _records(read_bytes(self.path, limit=TEXT), self.path)[1:]
        self.columns = [*self.columns, *new]
        self._write([self.columns, *([*row, *[""] * len(new)] for row in rows)])
        self._file = open_append(self.path)

    def _write(self, records: Sequence[Sequence[object]]) -> None:
        write_bytes(self.path, _text(records))


def _is_shared(path: Path) -> bool:
    """Whether the file has another name elsewhere; rows belong into one of the run's own."""
    return path.is_symlink() or (path.exists() and path.stat().st_nlink > 1)


def _records(data: bytes, path: Path) -> list[list[str]]:
    return parse_csv(data.decode(errors="replace"), path, remedy=_ANEW)


def _text(records: Sequence[Sequence[object]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(records)
    return text.getvalue().encode()


def extent_of_bytes(path: Path, length: int) -> Extent:
    """The extent of a table of which a checkpoint of version 0.1 remembers the length in bytes."""
    data = read_bytes(path, limit=TEXT, remedy=_ANEW) if path.exists() else b""
    if len(data) < length:
        return 1 + len(_records(data, path)), 0  # more than there is: the table is too short
    found = _records(data[:length], path)
    return max(len(found) - 1, 0), len(found[0]) if found else 0


class Means:
    """Running means of named numbers between two rows of the history, each over the times it was there."""

    def __init__(self, sums: Mapping[str, float] | None = None, counts: Mapping[str, int] | None = None) -> None:
        self.sums, self.counts = dict(sums or {}), dict(counts or {})

    def add(self, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
            self.counts[name] = self.counts.get(name, 0) + 1

    def current(self) -> dict[str, float]:
        """The means so far; those of other players (``player/term``) come after the headline's."""
        ordered = sorted(self.sums, key=lambda name: "/" in name)
        return {name: self.sums[name] / self.counts[name] for name in ordered}

    def take(self) -> dict[str, float]:
        """The means so far, to start anew after."""
        means = self.current()
        self.sums, self.counts = {}, {}
        return means


def read_table(path: Path) -> polars.DataFrame:
    """A history as a data frame, null where a row has no such number; empty when nothing was recorded yet."""
    import polars

    content = read_bytes(path, limit=TEXT) if path.exists() else b""
    if not content:
        return polars.DataFrame()
    try:
        return polars.read_csv(content, infer_schema_length=None)  # the first rows of a late column say nothing of it
    except polars.exceptions.PolarsError as error:
        raise UsageError(f"{path} is damaged: {str(error).splitlines()[0]}") from error

"""Tables of measured objects over time, from CSV files.

Two layouts are read. *Long*: a header with ``track``, ``frame``, ``x``, ``y``, ``area`` (more columns are ignored), one
row per object and frame; frames that follow each other by 1 belong together. *Wide*, that of the published Natural
Sprites: id, category, then a cell per time step with three entries, one per window, ``(y, x, area)`` or ``None``.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from unbraid.data.motion.tracks import Tracks
from unbraid.errors import UsageError
from unbraid.paths import user_path
from unbraid.reading import read_csv

__all__ = ["read_measurements"]

COLUMNS = ("track", "frame", "x", "y", "area")


def read_measurements(path: str | Path) -> Tracks:
    """Tracks of x, y and area from a CSV file in either layout, in pixels of the window."""
    path = user_path(path, "table")
    header, *rows = read_csv(path) or [[]]
    names = [name.strip().lower() for name in header]
    if set(COLUMNS) <= set(names):
        return _long(iter(rows), [names.index(name) for name in COLUMNS], path)
    return _wide([header, *rows], path)


def _long(rows: Iterator[list[str]], columns: list[int], path: Path) -> Tracks:
    tracks: dict[str, int] = {}
    table = []
    for line, row in enumerate(rows, start=2):
        if not row:
            continue
        try:
            name, *numbers = (row[column] for column in columns)
            table.append((tracks.setdefault(name, len(tracks)), *map(float, numbers)))
        except (IndexError, ValueError) as error:
            raise UsageError(
                f"{path}, line {line}: expected numbers for {', '.join(COLUMNS[1:])}, got {row}"
            ) from error
    return _joined(np.array(table).reshape(-1, 5), path)


def _wide(rows: list[list[str]], path: Path) -> Tracks:
    table: list[tuple[float, ...]] = []
    for line, row in enumerate(rows, start=1):
        if line == 1 and len(row) > 2 and not row[2].strip().startswith(("[", "(", "None")):
            continue  # a header
        for frame, cell in enumerate(row[2:]):
            for window, entry in enumerate(_entries(cell, path, line)):
                if entry is not None:
                    y, x, area = entry
                    table.append((3 * line + window, frame, x, y, area))
    return _joined(np.array(table, dtype=float).reshape(-1, 5), path)


def _entries(cell: str, path: Path, line: int) -> list[tuple[float, float, float] | None]:
    """The entries of one cell; ``literal_eval`` reads numbers, tuples and lists, and runs nothing."""
    text = cell.strip().replace("nan", "None")
    if not text:
        return []
    try:
        found = ast.literal_eval(text)
        entries = [] if found is None else list(found)
        if len(entries) > 3:
            raise ValueError(f"{len(entries)} windows")
        return [_entry(entry) for entry in entries]
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise UsageError(
            f"{path}, line {line}: expected up to three (y, x, area) or None, got {cell[:60]!r} ({error}); a table of "
            f"your own needs the header {','.join(COLUMNS)}"
        ) from error


def _entry(entry: object) -> tuple[float, float, float] | None:
    if entry is None:
        return None
    if not isinstance(entry, tuple | list) or len(entry) != 3:
        raise ValueError(f"{entry!r} is no (y, x, area)")
    return None if None in entry else (float(entry[0]), float(entry[1]), float(entry[2]))


def _joined(table: np.ndarray, path: Path) -> Tracks:
    """Tracks from rows of track, frame, x, y, area in any order; empty masks are no frames."""
    table = table[np.isfinite(table).all(axis=1) & (table[:, 4] > 0)] if len(table) else table
    table = table[np.lexsort((table[:, 1], table[:, 0]))]
    if len(table) < 2:
        raise UsageError(f"{path} holds fewer than two measured frames")
    links = (np.diff(table[:, 0]) == 0) & (np.diff(table[:, 1]) == 1)
    return Tracks.linked(table[:, 2:], ("x", "y", "area"), links)[0]

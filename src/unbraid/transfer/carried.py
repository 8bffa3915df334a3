"""The numbers of a matrix as one file, to go on elsewhere: blocks measured on machines that share no disk."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.files import make_folders, write_json
from unbraid.reading import parse_json, read_table
from unbraid.transfer.folder import MATRIX, MatrixFolder, begin_matrix
from unbraid.transfer.plan import Plan

if TYPE_CHECKING:
    import polars

__all__ = ["bring_cells", "carry_cells"]

_NAMES = re.compile(r"(cells(/[^/\\]+){3}/\d+|bounds/[^/\\]+)\.json")
"""Records that are carried: cells, and what noise vanilla models bear."""


def carry_cells(folder: MatrixFolder) -> polars.DataFrame:
    """The plan and every number of a matrix, one record per row: file, and its JSON in one line."""
    import polars

    inside = [path for kind in ("cells", "bounds") for path in sorted((folder.path / kind).rglob("*.json"))]
    rows = {MATRIX: json.dumps(folder.plan.to_json())}
    for path in inside:
        if _NAMES.fullmatch(name := path.relative_to(folder.path).as_posix()):
            rows[name] = json.dumps(json.loads(path.read_bytes()))
    return polars.DataFrame({"file": list(rows), "record": list(rows.values())})


def bring_cells(out: str | Path, files: Sequence[str | Path]) -> MatrixFolder:
    """Put what ``cells.parquet`` files of other folders hold into the folder of a matrix; what is there stays.

    The plans are joined as those of one folder are: another budget or other settings are refused. A number counts as
    measured only if what it was asked is what would be asked today, so that records of an older version are measured
    anew.
    """
    if not files:
        raise UsageError("give at least one cells.parquet, as unbraid transfer report writes it")
    read = [(path, _read(Path(path))) for path in files]  # all of them before anything is written
    for path, records in read:
        folder = begin_matrix(out, Plan.from_json(records.pop(MATRIX), str(path)))
        for name, record in records.items():
            place = folder.path / name
            if not place.exists():
                make_folders(place.parent)
                write_json(place, record)
    return folder


def _read(path: Path) -> dict[str, dict[str, object]]:
    rows = read_table(path)
    if set(rows.columns) != {"file", "record"}:
        raise UsageError(
            f"{path} has the columns {', '.join(rows.columns)}, and cells of a matrix have file and record; give the "
            "cells.parquet that unbraid transfer report writes"
        )
    found = {}
    for name, record in rows.select("file", "record").iter_rows():
        odd = name != MATRIX and (not _NAMES.fullmatch(str(name)) or ".." in str(name).split("/"))
        content = None if odd else parse_json(str(record), f"{path}: {name}")
        if not isinstance(content, dict):
            raise UsageError(f"{path} holds {name!r}, which is no record of a matrix; was the file edited?")
        found[str(name)] = content
    if MATRIX not in found:
        raise UsageError(f"{path} does not say which matrix its cells are of (no {MATRIX}); was the file edited?")
    return found

"""The numbers of a matrix as one file, to go on elsewhere: blocks measured on machines that share no disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.errors import UsageError
from unbraid.files import make_folders, write_json
from unbraid.paths import user_path
from unbraid.reading import check_form, parse_object, read_json, read_table, understood
from unbraid.transfer.folder import ASKED, CELL, MATRIX, MatrixFolder, begin_matrix, comparable, joined, open_matrix
from unbraid.transfer.plan import Plan
from unbraid.transfer.table import bound_asked, check_bounds

if TYPE_CHECKING:
    import polars

__all__ = ["bring_cells", "carry_cells"]

REMEDY = "Leave the file out (--known), or give another folder (--out)"
Records = dict[str, dict[str, Any]]
"""By the place of a file in the folder of a matrix."""


def carry_cells(folder: MatrixFolder) -> polars.DataFrame:
    """The plan and every number of a matrix, one record per row: file, and its JSON in one line."""
    import polars

    found = {MATRIX: folder.plan.to_json()}
    places = [*(f"cells/{cell.path}" for cell in folder.plan.cells()), *map(_bounds, folder.plan.domains)]
    found |= {place: read_json(folder.path / place) for place in places if (folder.path / place).exists()}
    return polars.DataFrame({"file": list(found), "record": [json.dumps(one) for one in found.values()]})


def bring_cells(out: str | Path, files: Sequence[str | Path], plan: Plan | None = None) -> MatrixFolder:
    """Put what ``cells.parquet`` files of other folders hold into the folder of a matrix; what is there stays.

    Plans are joined as those of one folder are, with ``plan`` if that is to be carried out next. Only what was asked as
    it would be asked today is taken over: the rest is measured anew. Files of another budget or other settings are
    refused before anything is written, unless they hold numbers that ``plan`` would ask for in the same words (those of
    recipes that the change does not touch).
    """
    if not files:
        raise UsageError("give at least one cells.parquet, as unbraid transfer report writes it")
    place = user_path(out, "folder of a matrix")
    read = [_as_planned(plan, *_read(Path(path)), Path(path)) for path in files]
    told = [(f"{place} was begun with", open_matrix(place).plan)] if (place / MATRIX).exists() else []
    told += [(_measured(Path(path)), carried) for path, (carried, _) in zip(files, read, strict=True)]
    told += [] if plan is None else [(ASKED, plan)]
    (first, whole), *others = told
    for said, other in others:
        whole = joined(whole, other, (first, said), REMEDY)
    for carried, records in read:
        folder = begin_matrix(place, carried)
        for cell in carried.cells():
            record = records.get(f"cells/{cell.path}")
            if record is not None and record["asked"] == folder.plan.asked(cell) and folder.cell(cell) is None:
                _write(folder, f"cells/{cell.path}", record)
        for domain in carried.domains:
            _add_bounds(folder, domain, records.get(_bounds(domain), {}))
    return folder


def _as_planned(plan: Plan | None, carried: Plan, records: Records, path: Path) -> tuple[Plan, Records]:
    """A file of another budget or other settings serves a plan by what was asked in the same words, if anything was."""
    if plan is None or comparable(plan, carried):
        return carried, records
    told = ((records.get(f"cells/{cell.path}"), cell) for cell in plan.cells())
    if not any(record and record["asked"] == plan.asked(cell) for record, cell in told):
        joined(carried, plan, (_measured(path), ASKED), REMEDY)  # which says what is different
    return plan, records


def _measured(path: Path) -> str:
    return f"{path} was measured with"


def _bounds(domain: str) -> str:
    return f"bounds/{domain}.json"


def _add_bounds(folder: MatrixFolder, domain: str, record: dict[str, Any]) -> None:
    """Seeds that are not there yet."""
    path, asked = folder.path / _bounds(domain), bound_asked(folder.plan, domain)
    known = check_bounds(read_json(path), str(path)) if path.exists() else {}
    known = {seed: one for seed, one in known.items() if one["asked"] == asked}
    added = {seed: one for seed, one in record.items() if one["asked"] == asked and seed not in known}
    if added:
        _write(folder, _bounds(domain), known | added)


def _write(folder: MatrixFolder, name: str, record: dict[str, Any]) -> None:
    make_folders((folder.path / name).parent)
    write_json(folder.path / name, record)


def _read(path: Path) -> tuple[Plan, Records]:
    """The plan of a file and its records, all of them checked: of cells and domains of this plan, and nothing else."""
    rows = read_table(path)
    if set(rows.columns) != {"file", "record"}:
        raise UsageError(
            f"{path} has the columns {', '.join(rows.columns)}, and cells of a matrix have file and record; give the "
            "cells.parquet that unbraid transfer report writes"
        )
    found = {
        str(name): parse_object(str(text), f"{path}: {name}")
        for name, text in rows.select("file", "record").iter_rows()
    }
    if MATRIX not in found:
        raise UsageError(f"{path} does not say which matrix its cells are of (no {MATRIX}); was the file edited?")
    with understood(path):
        plan = Plan.from_json(found.pop(MATRIX), str(path))
    cells = {f"cells/{cell.path}" for cell in plan.cells()}
    bounds = {_bounds(domain) for domain in plan.domains}
    for name, record in found.items():
        if name in cells:
            check_form(record, CELL, f"{path}: {name}")
        elif name in bounds:
            check_bounds(record, f"{path}: {name}")
        else:
            raise UsageError(f"{path} holds {name!r}, which is no record of its matrix; was the file edited?")
    return plan, found

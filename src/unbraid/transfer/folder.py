"""The folder of a matrix: what is done is what its files say.

::

    matrix.json                                    the plan
    runs/DOMAIN/SPLIT/RECIPE/SEED/                 a run folder; beside it .SEED.lock, held by the process at work on it
    cells/DOMAIN/BIAS/SCENARIO/SEED.json           one number with its details
    failures/runs/..., failures/cells/...          why something failed
    images/                                        corrupted images that all models are shown; may be deleted
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unbraid.errors import UsageError
from unbraid.evaluation import rows_to_json
from unbraid.files import make_folders, write_json
from unbraid.paths import quoted, user_path
from unbraid.reading import read_json
from unbraid.study import claim
from unbraid.transfer.plan import Cell, Plan, RunKey
from unbraid.transfer.trained import RUN_FORM, difference

__all__ = [
    "ASKED",
    "CELL",
    "MATRIX",
    "MatrixFolder",
    "begin_matrix",
    "comparable",
    "joined",
    "open_matrix",
    "planned_matrix",
]

MATRIX = "matrix.json"
ASKED = "now is asked for"
CELL = {"asked": str, "value": float | None, "details": dict, "seconds": float}


class MatrixFolder:
    """A plan with its place on disk."""

    def __init__(self, path: Path, plan: Plan) -> None:
        self.path, self.plan = path, plan

    def run(self, key: RunKey) -> Path:
        return self.path / "runs" / key.path

    def trained(self, key: RunKey) -> bool:
        """Whether a run is there, finished, and by the recipe of today."""
        record = self._record(key)
        return record is not None and record["status"] == "finished" and not self._otherwise(key, record)

    def check_run(self, *keys: RunKey) -> None:
        """Refuse runs that another recipe trained: their numbers would be taken for those of today's."""
        found = {self.run(key): self._record(key) for key in keys}
        told = {
            self.run(key): why
            for key in keys
            if (record := found[self.run(key)]) is not None and (why := self._otherwise(key, record))
        }
        if told:
            (path, why), others = next(iter(told.items())), len(told) - 1
            more = f", and {others} more of {len(keys)} are by other recipes" if others else ""
            raise UsageError(
                f"{path} was trained with {why}{more}: numbers of it would be taken for those of today's recipe. Move "
                f"{'these folders' if others else 'this folder'} away to train anew, or give another folder (--out)"
            )

    def _record(self, key: RunKey) -> dict[str, Any] | None:
        path = self.run(key) / "run.json"
        return read_json(path, RUN_FORM) if path.exists() else None

    def _otherwise(self, key: RunKey, record: dict[str, Any]) -> str:
        return difference(record, self.plan.recipe(key.domain, key.recipe), key.training, key.seed)

    def cell(self, cell: Cell) -> dict[str, Any] | None:
        """What was measured: value, details, seconds; ``None`` if nothing was, or by another plan."""
        path = self.path / "cells" / cell.path
        if not path.exists():
            return None
        found = read_json(path, CELL, remedy="delete it to measure it anew")
        return found if found["asked"] == self.plan.asked(cell) else None

    def write_cell(self, cell: Cell, value: float | None, rows: Any, seconds: float) -> None:
        path = self.path / "cells" / cell.path
        make_folders(path.parent)
        details = rows_to_json(rows)[0]["scores"] if rows else {}
        about = {"asked": self.plan.asked(cell), "value": value, "details": details, "seconds": seconds}
        write_json(path, about)

    def missing(self, plan: Plan | None = None) -> list[Cell]:
        """Cells that are not measured, of all or of a plan that is part of it."""
        return [cell for cell in (plan or self.plan).cells() if self.cell(cell) is None]

    def failure(self, what: RunKey | Cell) -> str:
        """Why a run could not be trained, or a cell not be asked; empty if neither was seen to fail."""
        path = self._failure(what)
        return str(read_json(path, {"error": str})["error"]) if path.exists() else ""

    def failures(self, plan: Plan) -> dict[str, str]:
        """What keeps the missing cells of a plan from being filled, by the names of runs and cells."""
        missing = self.missing(plan)
        places: list[RunKey | Cell] = [*dict.fromkeys(plan.run_key(cell) for cell in missing), *missing]
        return {place.path: why for place in places if (why := self.failure(place))}

    def fail(self, what: RunKey | Cell, error: str, traceback: str = "") -> None:
        path = self._failure(what)
        make_folders(path.parent)
        write_json(path, {"error": error, "traceback": traceback})

    def forgive(self, what: RunKey | Cell) -> None:
        self._failure(what).unlink(missing_ok=True)

    @contextmanager
    def claim(self, key: RunKey) -> Iterator[bool]:
        """Try to become the one that trains or asks a run; gives whether it worked."""
        place = self.run(key)
        make_folders(place.parent)
        with claim(place.with_name(f".{place.name}.lock")) as held:
            yield held

    def _failure(self, what: RunKey | Cell) -> Path:
        kind = "cells" if isinstance(what, Cell) else "runs"
        return self.path / "failures" / kind / f"{what.path.removesuffix('.json').replace('/', '--')}.json"


def open_matrix(path: str | Path) -> MatrixFolder:
    """Open the folder of a matrix."""
    folder = user_path(path, "folder of a matrix")
    if not (folder / MATRIX).exists():
        raise UsageError(
            f"{folder} holds no matrix (no {MATRIX}). Start one: unbraid transfer run smoke --out {quoted(folder)}"
        )
    return MatrixFolder(folder, Plan.from_json(read_json(folder / MATRIX), str(folder / MATRIX)))


def begin_matrix(path: str | Path, plan: Plan) -> MatrixFolder:
    """Make the folder of a matrix, or go on in it: more biases, scenarios, seeds and domains add to what is there.

    Another budget or other settings of scenarios than before are refused: its numbers could not be compared.
    """
    folder = user_path(path, "folder of a matrix")
    try:
        make_folders(folder)
    except OSError as error:
        raise UsageError(f"cannot write to {folder} ({error.strerror}); choose another folder (--out)") from error
    with claim(folder / ".lock", wait=True):
        if (folder / MATRIX).exists():
            plan = joined(open_matrix(folder).plan, plan, (f"{folder} was begun with", ASKED))
        write_json(folder / MATRIX, plan.to_json())
    return MatrixFolder(folder, plan)


def planned_matrix(path: str | Path, plan: Plan) -> MatrixFolder:
    """What :func:`begin_matrix` would give, without writing anything."""
    folder = user_path(path, "folder of a matrix")
    if (folder / MATRIX).exists():
        plan = joined(open_matrix(folder).plan, plan, (f"{folder} was begun with", ASKED))
    return MatrixFolder(folder, plan)


def comparable(one: Plan, other: Plan) -> bool:
    """Whether all numbers of two plans may stand in one folder."""
    return not _difference(one, other)


def joined(old: Plan, new: Plan, said: tuple[str, str], remedy: str = "Give another folder (--out)") -> Plan:
    """The plan that asks all that one of two asks; those whose numbers could not be compared are refused.

    ``said`` are the words of the message about where each comes from.
    """
    if difference := _difference(old, new):
        what, before, now = difference
        raise UsageError(f"{said[0]} the {what} {before}, and {said[1]} {now}: numbers could not be compared. {remedy}")
    lists = {
        key: tuple(dict.fromkeys((*getattr(old, key), *getattr(new, key))))
        for key in ("domains", "biases", "scenarios", "seeds")
    }
    absent = {
        domain: tuple(bias for bias in lists["biases"] if not (_there(old, domain, bias) or _there(new, domain, bias)))
        for domain in lists["domains"]
    }
    unsplit = tuple(bias for bias in lists["biases"] if not (_split(old, bias) or _split(new, bias)))
    kept = {domain: names for domain, names in absent.items() if names}
    only = {**old.only, **new.only}
    source = {"all": old, **dict.fromkeys(new.scenarios, new), **dict.fromkeys(old.scenarios, old)}
    settings = {name: plan.settings[name] for name, plan in source.items() if name in plan.settings}
    return Plan(old.name, **lists, budget=old.budget, settings=settings, only=only, absent=kept, unsplit=unsplit)


def _difference(old: Plan, new: Plan) -> tuple[str, Any, Any] | None:
    """What keeps numbers of two plans from being compared; scenarios that only one of them asks do not."""
    before, now = old.to_json(), new.to_json()
    if before["budget"] != now["budget"]:
        return "budget", before["budget"], now["budget"]
    shared = ("all", *(name for name in old.scenarios if name in new.scenarios))
    told = [{name: found["settings"].get(name, {}) for name in shared} for found in (before, now)]
    return None if told[0] == told[1] else ("settings", told[0], told[1])


def _there(plan: Plan, domain: str, bias: str) -> bool:
    return domain in plan.domains and bias in plan.biases and bias not in plan.absent.get(domain, ())


def _split(plan: Plan, bias: str) -> bool:
    return bias in plan.biases and bias not in plan.unsplit

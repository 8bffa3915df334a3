"""Groups whose cells are functions: each leaves one small file, on processes or a cluster, and is not done twice."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.claims.elsewhere import records_under
from unbraid.claims.group import GROUPS, TABLE, Cell, Group, Scale, State
from unbraid.claims.recipes import defaults, difference, told
from unbraid.engines import Engine, Task
from unbraid.errors import UsageError
from unbraid.files import claim, make_folders, write_json
from unbraid.plugins import imported
from unbraid.progress import Progress, ProgressKind
from unbraid.reading import read_json, read_table

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CellGroup", "Work", "carry_out"]

RECIPE = "recipe.json"
"""Which group a folder is of, at which scale, by which key."""
_ABOUT = {"group": str, "scale": str, "key": str, "details": dict, "done?": dict}
_FORM = {"setting": dict, "rows": list, "seconds": float}


@dataclass(frozen=True)
class Work(Cell):
    """A cell that a function carries out: ``package.module:name``, called with its arguments."""

    function: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    trains: bool = False
    """Whether the function is given a folder to put runs in, as ``place``."""
    prepares: bool = field(default=False, kw_only=True)
    """Whether it has no numbers: only what it leaves in that folder for cells of later stages."""


@dataclass(frozen=True)
class CellGroup(Group):
    """Cells by functions; the table has their rows, with ``cell``, its setting and ``seconds``."""

    work: Callable[[Mapping[str, Any], Sequence[int]], list[Work]] = field(default=lambda *_: [])
    """From a recipe's plan and seeds to cells."""

    def cells(self, scale: Scale) -> list[Cell]:
        recipe = self.recipes[scale]
        return list(self.work(recipe.plan, recipe.seeds))

    def details(self, scale: Scale) -> Any:
        """What every cell is asked: attacks and the like that the plan does not spell out, and defaults, too."""
        cells = self.work(self.recipes[scale].plan, self.recipes[scale].seeds)
        return {
            "seeds": list(self.recipes[scale].seeds),
            "version": self.version,
            "needs": {name: GROUPS[name].key(scale) for name in self.needs},
            "plan": dict(self.recipes[scale].plan),
            "cells": {
                cell.name: {"function": cell.function, **defaults(_function(cell)), **cell.arguments} for cell in cells
            },
        }

    def todo(self, out: Path, scale: Scale, cells: Sequence[Cell], asked: Sequence[Cell]) -> list[Cell]:
        """What prepares others is done for those that are still to do alone."""
        found = super().todo(out, scale, cells, asked)
        last = max((cell.stage for cell in found), default=0)
        return [cell for cell in found if not _prepares(cell) or cell.stage < last]

    def state(self, out: Path, scale: Scale, cell: Cell) -> tuple[State, str]:
        place = self.place(out, scale)
        if (place / "cells" / f"{cell.name}.json").exists():
            return "done", ""
        failure = place / "failures" / f"{cell.name}.json"
        return ("failed", str(read_json(failure, {"error": str})["error"])) if failure.exists() else ("missing", "")

    def run(
        self,
        out: Path,
        scale: Scale,
        cells: Sequence[Cell],
        *,
        engine: Callable[[], Engine],
        retry_failed: bool = False,
        progress: ProgressKind = "auto",
    ) -> None:
        place = self._begin(out, scale)
        needed = {name: str(GROUPS[name].place(out, scale)) for name in self.needs}
        todo = []
        for cell in cells:
            state, _ = self.state(out, scale, cell)
            if state == "failed" and retry_failed:
                (place / "failures" / f"{cell.name}.json").unlink()
                state = "missing"
            todo += [cell] if state == "missing" else []
        if not todo:
            return
        done = len(cells) - len(todo)
        show = Progress(self.name, len(cells), unit="cells", kind=progress, start=done)
        try:
            for stage in sorted({cell.stage for cell in todo}):
                tasks = [self._task(place, cell, needed) for cell in todo if cell.stage == stage]
                with engine() as pool:
                    for outcome in pool.run(tasks):
                        done += 1
                        if not outcome.ok:
                            make_folders(place / "failures")
                            write_json(
                                place / "failures" / f"{outcome.key}.json",
                                {"error": outcome.error, "traceback": outcome.traceback},
                            )
                        show.update(done)
        finally:
            show.close()

    def take(self, out: Path, scale: Scale, cells: Sequence[Cell], places: Sequence[Path]) -> int:
        """Cells of the same group by the same key; a key covers all that decides a group's numbers."""
        place, key, count = self._begin(out, scale), self.key(scale), 0
        for record, about in records_under(places, RECIPE, _ABOUT):
            if about["key"] != key or record.parent.resolve() == place.resolve():
                continue
            kept = _kept(record.parent, about.get("done", {}))
            for cell in cells:
                if cell.name in kept and self.state(out, scale, cell)[0] == "missing" and not _prepares(cell):
                    write_json(place / "cells" / f"{cell.name}.json", {**kept[cell.name], "setting": cell.setting})
                    count += 1
        return count

    def refusal(self, scale: Scale, places: Sequence[Path]) -> str:
        there = {path: one for path, one in records_under(places, RECIPE, _ABOUT) if one["group"] == self.name}
        if any(record["key"] == self.key(scale) for record in there.values()):
            return ""
        if not there:
            return f"nothing to take over: no {RECIPE} under {', '.join(map(str, places))} is of {self.name}"
        mine = json.loads(json.dumps(self.details(scale), default=str))
        each = {path.parent: difference(mine, record["details"]) for path, record in there.items()}
        near = min(each, key=lambda path: len(each[path]))
        return f"nothing to take over from {near}, the nearest: {told(each[near])}"

    def _begin(self, out: Path, scale: Scale) -> Path:
        place = self.place(out, scale)
        if not (place / RECIPE).exists():
            make_folders(place / "cells")
            write_json(place / RECIPE, self._about(scale))
        return place

    def _about(self, scale: Scale) -> dict[str, Any]:
        return {"group": self.name, "scale": scale, "key": self.key(scale), "details": self.details(scale)}

    def keep(self, out: Path, scale: Scale) -> None:
        """With the cells that are done, some of which may have no rows, so that they can be taken over by the table."""
        super().keep(out, scale)
        done = {path.stem: read_json(path, _FORM)["seconds"] for path in _files(self.place(out, scale))}
        if done:
            write_json(self.place(out, scale) / RECIPE, {**self._about(scale), "done": done})

    def collect(self, out: Path, scale: Scale) -> pl.DataFrame:
        import polars as pl

        place, rows = self.place(out, scale), []
        for cell in self.cells(scale):
            path = place / "cells" / f"{cell.name}.json"
            if path.exists():
                found = read_json(path, _FORM, remedy="delete it to have the cell done again")
                common = {"cell": cell.name, **cell.setting, "seconds": found["seconds"]}
                rows += [{**common, **row} for row in found["rows"]]
        return pl.DataFrame(rows, infer_schema_length=None)

    def _task(self, place: Path, cell: Cell, needed: Mapping[str, str]) -> Task:
        assert isinstance(cell, Work)
        about: dict[str, Any] = {
            "function": cell.function,
            "arguments": dict(cell.arguments),
            "setting": dict(cell.setting),
        }
        about |= {"place": str(place), "name": cell.name, "needed": dict(needed), "trains": cell.trains}
        return Task(cell.name, "unbraid.claims.cells:carry_out", about, tuple(imported()))


def _prepares(cell: Cell) -> bool:
    return isinstance(cell, Work) and cell.prepares


def _files(place: Path) -> list[Path]:
    return sorted((place / "cells").glob("*.json"))


def _kept(place: Path, done: Mapping[str, float]) -> dict[str, dict[str, Any]]:
    """The cells of a folder: their files, or what the table has of those that were ``done`` when it was kept."""
    found: dict[str, dict[str, Any]] = {}
    if done and (place / TABLE).exists():
        table = read_table(place / TABLE)
        parts = table.drop("seconds").partition_by("cell", as_dict=True, include_key=False)
        rows = {str(name): part.to_dicts() for (name,), part in parts.items()}
        found = {name: {"rows": rows.get(name, []), "seconds": seconds} for name, seconds in done.items()}
    return found | {path.stem: read_json(path, _FORM) for path in _files(place)}


def _function(cell: Work) -> Callable[..., Any]:
    module, _, word = cell.function.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), word)
    return found


def carry_out(
    place: str,
    name: str,
    function: str,
    arguments: dict[str, Any],
    setting: dict[str, Any],
    needed: dict[str, str],
    trains: bool,
) -> None:
    """Do one cell and write its file, unless another process did; what it trains lies in its own folder."""
    path = Path(place) / "cells" / f"{name}.json"
    make_folders(path.parent)
    with claim(path.with_name(f".{name}.lock"), wait=True):
        if path.exists():
            return
        began = time.process_time()
        told: dict[str, Any] = {"needed": needed} if needed else {}
        told |= {"place": Path(place) / "runs"} if trains else {}
        rows = _function(Work(name, setting, function=function))(**arguments, **told)
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise UsageError(f"{function} must give a list of rows, got {type(rows).__name__}")
        write_json(path, {"setting": setting, "rows": rows, "seconds": time.process_time() - began})

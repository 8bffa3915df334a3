"""Groups that are studies: a file of settings, run and measured by the study's own runner."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unbraid.claims.group import GROUPS, Cell, Group, Scale, State
from unbraid.data import parse
from unbraid.engines import Engine
from unbraid.files import make_folders
from unbraid.plugins import imported
from unbraid.progress import ProgressKind
from unbraid.study import Study, StudyFolder, begin_study, make_table, open_study, parse_study, run_study

if TYPE_CHECKING:
    import polars as pl

    from unbraid.study import RunSpec

__all__ = ["StudyGroup", "run_hash", "take_over"]


APART = 100_000
"""Indices of runs of another benchmark begin here."""


@lru_cache(maxsize=64)
def _study(text: str, seeds: tuple[int, ...], name: str) -> Study:
    return parse_study(f"seeds = {list(seeds)}\n{text}", f"run group {name}", default_name=name)


@dataclass(frozen=True)
class StudyGroup(Group):
    """Cells are runs of a study, whose file is the recipe's ``study``; seeds come from the recipe."""

    table: Literal["runs", "benchmark"] = "runs"
    """One row per run and condition, or the tables of a benchmark under one another, told apart by ``part``."""
    joined: tuple[str, ...] = ()
    """Benchmarks whose runs stand in its tables, too, so that models of both can be compared."""

    def study(self, scale: Scale) -> Study:
        """The study of a scale."""
        recipe = self.recipes[scale]
        return _study(str(recipe.plan["study"]), recipe.seeds, self.name)

    def cells(self, scale: Scale) -> list[Cell]:
        found = []
        for spec in self.study(scale):
            split = parse(spec.data_set)[1].get("split")
            about = {"data": spec.data, "objective": spec.objective, "strength": spec.strength, "seed": spec.seed}
            about |= {"net": (spec.net or "").partition(":")[0], "split": split, "after": spec.after}
            about["augment"] = "+".join(str(one) for one in spec.options.get("augment", ())) or None
            found.append(Cell(f"{spec.index:05d}", about, cost=float(spec.steps)))
        return found

    def chosen(self, scale: Scale, wanted: Any) -> list[Cell]:
        """With the runs that chosen ones begin from."""
        found = {cell.name: cell for cell in super().chosen(scale, wanted)}
        cells = self.cells(scale)
        for cell in list(found.values()):
            if cell.setting["after"] is not None:
                begin = cells[int(cell.setting["after"])]
                found[begin.name] = begin
        return [cell for cell in cells if cell.name in found]

    def state(self, out: Path, scale: Scale, cell: Cell) -> tuple[State, str]:
        folder = StudyFolder(self.place(out, scale), self.study(scale))
        state = folder.state(int(cell.name))
        if state == "failed":
            return "failed", str((folder.failure(int(cell.name)) or {}).get("error", "unknown"))
        return ("done" if state == "evaluated" else "missing"), ""

    def run(
        self,
        out: Path,
        scale: Scale,
        cells: Sequence[Cell],
        *,
        engine: Callable[[], Engine],
        reuse: Sequence[Path] = (),
        retry_failed: bool = False,
        progress: ProgressKind = "auto",
    ) -> None:
        study, place = self.study(scale), self.place(out, scale)
        indices = [int(cell.name) for cell in cells]
        folder = begin_study(place, study)
        if all(folder.state(index) == "evaluated" for index in indices):
            return
        take_over(folder, indices, [out / "groups", *reuse])
        run_study(
            study,
            place,
            engine=engine(),
            indices=indices,
            retry_failed=retry_failed,
            plugins=imported(),
            progress=progress,
        )

    def collect(self, out: Path, scale: Scale) -> pl.DataFrame:
        import polars as pl

        place = self.place(out, scale)
        if not (place / "study.json").exists():
            return pl.DataFrame()
        folder = open_study(place)
        if self.table == "runs":
            return make_table(folder)
        others = [GROUPS[name].place(out, scale) for name in self.joined]
        return _benchmark(folder, [open_study(other) for other in others if (other / "study.json").exists()])


def _benchmark(folder: StudyFolder, others: Sequence[StudyFolder]) -> pl.DataFrame:
    """The tables of a benchmark under one another; runs of others get indices of their own."""
    import polars as pl

    from unbraid.study.generalization import TABLES, tabulate, trained_runs

    runs = list(trained_runs(folder))
    if not runs:
        return pl.DataFrame()
    for number, other in enumerate(others, 1):
        runs += [replace(run, index=run.index + APART * number) for run in trained_runs(other)]
    found = tabulate(folder.study.name, runs)
    parts = [getattr(found, name).with_columns(part=pl.lit(name)) for name in TABLES]
    seconds = make_table(folder).select("index", "seconds").unique("index")
    whole = pl.concat([part for part in parts if len(part)], how="diagonal_relaxed")
    return whole.join(seconds, on="index", how="left")


def run_hash(spec: RunSpec, before: RunSpec | None = None) -> str:
    """A hash of all that decides a training, whichever study it stands in; what is asked of it is not a part."""
    about = {
        key: value for key, value in asdict(spec).items() if key not in ("index", "after", "parameter", "strength")
    }
    told = [about, None if before is None else run_hash(before)]
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()


def _hashes(folder: StudyFolder) -> Iterator[tuple[int, str]]:
    study = folder.study
    for spec in study:
        yield spec.index, run_hash(spec, None if spec.after is None else study[spec.after])


def take_over(folder: StudyFolder, indices: Sequence[int], places: Sequence[Path]) -> int:
    """Copy finished runs of other studies that were trained by the same recipe; how many.

    Answers that were measured there and are asked for here count, too: they are stored by what was asked.
    """
    wanted = set(indices)
    lacking = {key: index for index, key in _hashes(folder) if index in wanted and folder.state(index) == "pending"}
    count = 0
    for place in places:
        for record in sorted(Path(place).glob("**/study.json")):
            if not lacking or record.parent.resolve() == folder.path.resolve():
                continue
            other = open_study(record.parent)
            for index, key in _hashes(other):
                if key in lacking and other.progress(index) in ("trained", "evaluated"):
                    target = folder.run(lacking.pop(key))
                    make_folders(target.parent)
                    shutil.copytree(other.run(index), target)
                    count += 1
    return count

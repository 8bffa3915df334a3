"""Groups that are studies: a file of settings, run and measured by the study's own runner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unbraid.claims.group import GROUPS, Cell, Group, Scale, State
from unbraid.claims.nearest import refusal
from unbraid.claims.recipes import asked_of_runs
from unbraid.claims.reuse import RECIPES, begin_recipes, keep_images, recipes_of, take_over
from unbraid.claims.tables import take_benchmark, take_rows, taken_rows
from unbraid.data import parse
from unbraid.engines import Engine
from unbraid.files import write_json
from unbraid.plugins import imported
from unbraid.progress import ProgressKind
from unbraid.study import Study, StudyFolder, begin_study, make_table, open_study, parse_study, run_study

if TYPE_CHECKING:
    import polars as pl

__all__ = ["StudyGroup"]


RECORD = "study.json"
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

    def details(self, scale: Scale) -> Any:
        """Every option of every setting and of what is asked, whether the file tells it or not."""
        study = self.study(scale)
        one = replace(study, seeds=study.seeds[:1])
        return {"runs": list(recipes_of(one).values()), "asked": asked_of_runs(study.measures), "table": self.table}

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
        done = state == "evaluated" or int(cell.name) in taken_rows(folder.path)[0]
        return ("done" if done else "missing"), ""

    def todo(self, out: Path, scale: Scale, cells: Sequence[Cell], asked: Sequence[Cell]) -> list[Cell]:
        """Runs of which only rows were taken over are done, but for those who ask the runs themselves."""
        folder = StudyFolder(self.place(out, scale), self.study(scale))
        bare = {cell.name for cell in asked if _bare(folder, int(cell.name))}
        return [cell for cell in cells if cell.name in bare or self.state(out, scale, cell)[0] != "done"]

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
        folder = self._begin(out, scale)
        indices = _with_beginnings(folder, cells)
        take_over(folder, indices, [out / "groups"])
        lacking = [index for index in indices if folder.state(index) != "evaluated"]
        if not lacking:
            return
        run_study(
            folder.study,
            folder.path,
            engine=engine(),
            indices=lacking,
            retry_failed=retry_failed,
            plugins=imported(),
            progress=progress,
        )

    def take(self, out: Path, scale: Scale, cells: Sequence[Cell], places: Sequence[Path]) -> int:
        folder = self._begin(out, scale)
        indices = _with_beginnings(folder, cells)
        count = take_over(folder, indices, places)
        if self.table == "runs":
            return count + take_rows(folder, indices, places)
        return count + take_benchmark(folder, self.key(scale), self._scored(scale), places)

    def refusal(self, scale: Scale, places: Sequence[Path]) -> str:
        return refusal(self.study(scale), places)

    def _begin(self, out: Path, scale: Scale) -> StudyFolder:
        """The folder of its study; the same recipe may have been told in other words there."""
        place, study = self.place(out, scale), self.study(scale)
        if (place / RECORD).exists() and open_study(place).study != study:
            write_json(place / RECORD, study.to_json())
        folder = begin_study(place, study)
        begin_recipes(folder, self.key(scale))
        return folder

    def _scored(self, scale: Scale) -> frozenset[int]:
        """The runs that the whole table of a benchmark has, with those of others under indices of their own."""
        sizes = [len(one.study(scale)) for one in (self, *self._others())]
        return frozenset(index + APART * number for number, size in enumerate(sizes) for index in range(size))

    def _others(self) -> list[StudyGroup]:
        return [one for one in map(GROUPS.__getitem__, self.joined) if isinstance(one, StudyGroup)]

    def keep(self, out: Path, scale: Scale) -> None:
        place = self.place(out, scale)
        if (place / RECIPES).exists() and (place / RECORD).exists():
            super().keep(out, scale)
            keep_images(open_study(place))

    def collect(self, out: Path, scale: Scale) -> pl.DataFrame:
        import polars as pl

        place = self.place(out, scale)
        if not (place / RECORD).exists():
            return pl.DataFrame()
        folder = open_study(place)
        taken = taken_rows(place)[1]
        bare = [index for index in range(len(folder.study)) if _bare(folder, index)]
        if self.table == "runs":
            own, here = make_table(folder), pl.col("index").is_in(bare)
            parts = [part for part in (taken.filter(here), own.filter(~here)) if len(part)] if bare else [own]
            return pl.concat(parts, how="diagonal_relaxed").sort("index", maintain_order=True)
        if bare:
            return taken  # its rows compare runs with each other, so it stands as long as one of them is not here
        others = [one.place(out, scale) for one in self._others()]
        return _benchmark(folder, [open_study(other) for other in others if (other / RECORD).exists()])


def _with_beginnings(folder: StudyFolder, cells: Sequence[Cell]) -> list[int]:
    """The runs of some cells, with those that they begin from where only rows of these are here."""
    found = {int(cell.name) for cell in cells}
    begins = {folder.study[index].after for index in found if folder.progress(index) not in ("trained", "evaluated")}
    return sorted(found | {first for first in begins if first is not None and _bare(folder, first)})


def _bare(folder: StudyFolder, index: int) -> bool:
    """Whether rows of a run are here, and not the run itself."""
    return index in taken_rows(folder.path)[0] and folder.progress(index) != "evaluated"


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

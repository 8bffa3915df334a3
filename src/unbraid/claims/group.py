"""Run groups: trainings and evaluations that several claims read, with a recipe at every scale."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from unbraid.errors import UsageError
from unbraid.files import save_table

if TYPE_CHECKING:
    import polars as pl

    from unbraid.engines import Engine
    from unbraid.progress import ProgressKind

__all__ = ["GROUPS", "SCALES", "Cell", "Group", "Recipe", "Scale", "State", "fresh", "matches"]

Scale = Literal["smoke", "small", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)
State = Literal["done", "failed", "missing"]
TABLE = "table.parquet"
FIRST_SEED = 100
"""Seeds from here on judge; the constants of rules were chosen knowing results of smaller ones."""


def fresh(count: int) -> tuple[int, ...]:
    """So many seeds that no rule was made with."""
    return tuple(range(FIRST_SEED, FIRST_SEED + count))


@dataclass(frozen=True)
class Recipe:
    """How a group is carried out at one scale."""

    words: str
    """Data, size and steps, in words: what a verdict begins with."""
    plan: Mapping[str, Any]
    """All that decides its numbers, as plain data."""
    seeds: tuple[int, ...]
    minutes: float
    """Expected, of one core."""
    data: tuple[str, ...] = ()
    """Data sets whose files must be there."""
    runs: int = 0
    """Trainings, where cells do not tell."""
    steps: int = 0
    """Of each training, for the plan of a cluster."""
    unit: str = "core"
    """What the minutes are of: core, or GPU."""


@dataclass(frozen=True)
class Cell:
    """One piece of work of a group."""

    name: str
    setting: Mapping[str, Any]
    """What tells it from others, by the columns of the group's table."""
    stage: int = 0
    """Cells of a stage begin when those of earlier ones are done."""
    cost: float = 1.0
    """Share of the group's cost, in any unit."""
    beside: bool = field(default=False, kw_only=True)
    """Whether it is only reported where it is there: claims that name it are judged without it, too."""


GROUPS: dict[str, Group] = {}
"""All run groups by name."""


@dataclass(frozen=True)
class Group(ABC):
    """A named set of cells; kinds differ in what a cell is and how it is carried out."""

    name: str
    about: str
    recipes: Mapping[Scale, Recipe]
    needs: tuple[str, ...] = ()
    """Groups whose runs it asks further."""
    gate: Callable[[pl.DataFrame], Iterable[str]] | None = None
    """Which seeds are too badly trained to be judged, in words; blind to what claims compare."""
    missing: Mapping[Scale, str] = field(default_factory=dict)
    """Why it cannot be run at a scale."""
    version: int = 1
    """Raise it when the same recipe gives other numbers than before: all of it is then done anew."""

    def __post_init__(self) -> None:
        if set(self.recipes) != set(SCALES):
            raise UsageError(f"group {self.name} needs a recipe for each of {', '.join(SCALES)}")
        GROUPS[self.name] = self

    def key(self, scale: Scale) -> str:
        """A hash of all that decides its numbers, of groups it needs too."""
        known: dict[Scale, str] = self.__dict__.setdefault("_keys", {})  # asked for by every cell
        if scale not in known:
            needed = [GROUPS[name].key(scale) for name in self.needs]
            told = [self.name, scale, self.version, self.recipes[scale].seeds, self.details(scale), needed]
            known[scale] = hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:12]
        return known[scale]

    def details(self, scale: Scale) -> Any:
        """What else is a part of its recipe, as plain data."""
        return self.recipes[scale].plan

    def place(self, out: Path, scale: Scale) -> Path:
        """Its folder: another recipe has another one."""
        return out / "groups" / self.name / f"{scale}-{self.key(scale)}"

    def chosen(self, scale: Scale, wanted: Sequence[Mapping[str, tuple[Any, ...]]] | None) -> list[Cell]:
        """The cells that at least one of these choices names; all without."""
        cells = self.cells(scale)
        return cells if wanted is None else [cell for cell in cells if any(matches(cell, one) for one in wanted)]

    def todo(self, out: Path, scale: Scale, cells: Sequence[Cell], asked: Sequence[Cell]) -> list[Cell]:
        """What is still to do of these cells; of those that other groups have ``asked`` for, rows are not enough."""
        return [cell for cell in cells if self.state(out, scale, cell)[0] != "done"]

    @abstractmethod
    def cells(self, scale: Scale) -> list[Cell]:
        """All pieces of work at a scale."""

    @abstractmethod
    def state(self, out: Path, scale: Scale, cell: Cell) -> tuple[State, str]:
        """Whether a cell is done, and what is wrong with it."""

    @abstractmethod
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
        """Carry out these cells, which are still to do."""

    @abstractmethod
    def take(self, out: Path, scale: Scale, cells: Sequence[Cell], places: Sequence[Path]) -> int:
        """Take over of these cells what other folders hold by the same recipe, without doing anything; how many."""

    def refusal(self, scale: Scale, places: Sequence[Path]) -> str:
        """Why what lies in other folders is not taken over, in words."""
        return ""

    @abstractmethod
    def collect(self, out: Path, scale: Scale) -> pl.DataFrame:
        """The table of all that is done."""

    def keep(self, out: Path, scale: Scale) -> None:
        """Write the table of all that is done, for those who take it further."""
        table = self.collect(out, scale)
        if len(table):
            save_table(table, self.place(out, scale) / TABLE)

    def minutes(self, scale: Scale, cells: Sequence[Cell]) -> float:
        """Expected cost of some of its cells."""
        whole = sum(cell.cost for cell in self.cells(scale))
        return self.recipes[scale].minutes * sum(cell.cost for cell in cells) / whole if whole else 0.0

    def seconds(self, out: Path, scale: Scale) -> float:
        """What it took so far, of one core."""
        import polars as pl

        table = self.collect(out, scale)
        if "seconds" not in table.columns or not len(table):
            return 0.0
        keys = [name for name in ("index", "cell") if name in table.columns]
        return float(table.unique(keys)["seconds"].cast(pl.Float64).fill_null(0).sum())


def matches(cell: Cell, wanted: Mapping[str, tuple[Any, ...]]) -> bool:
    """Whether a cell is among those that a claim reads; what a cell has no word for does not exclude it."""
    return all(cell.setting[name] in values for name, values in wanted.items() if name in cell.setting)

"""Tables of groups that were kept without the runs behind them: what can be taken over of their rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.claims.elsewhere import records_under
from unbraid.claims.group import TABLE
from unbraid.claims.recipes import asked_of_runs
from unbraid.claims.reuse import RECIPES, RECIPES_FORM, hashes_of, keep_images, same_images
from unbraid.evaluation import GroupMeasure
from unbraid.files import save_table
from unbraid.reading import read_table
from unbraid.study import RunSpec, Study, StudyFolder

if TYPE_CHECKING:
    import polars as pl

__all__ = ["take_benchmark", "take_rows", "taken_rows"]

TAKEN = "taken.parquet"
"""Rows that were taken over without their runs."""


def take_rows(folder: StudyFolder, indices: Sequence[int], places: Sequence[Path]) -> int:
    """Take over rows of tables whose ``recipes.json`` says the same recipe, images and questions; of how many runs."""
    import polars as pl

    lacking = hashes_of(folder.study, _without_rows(folder, indices))
    asked, count = asked_of_runs(folder.study.measures), 0
    for path, kept in _kept(folder, places):
        if kept["asked"] != asked or not set(lacking.values()) & set(kept["runs"].values()):
            continue
        table = read_table(path)
        if "status" not in table.columns:  # that of a benchmark
            continue
        table = table.filter(pl.col("status") == "evaluated")
        pairs = _pairs(folder.study, lacking, kept, table)
        if pairs:
            rows = [_row_of(table, theirs, folder.study[own]) for own, theirs in pairs.items()]
            _keep(folder, rows, {folder.study[own].data_set for own in pairs}, kept["images"])
            lacking = {own: key for own, key in lacking.items() if own not in pairs}
            count += len(pairs)
    return count


def take_benchmark(folder: StudyFolder, key: str, scored: Set[int], places: Sequence[Path]) -> int:
    """Take over the table of a benchmark by the key of its group if it has all of these runs; of how many runs.

    Its rows compare runs with each other, so a part of it would be worth nothing beside others.
    """
    import polars as pl

    lacking = _without_rows(folder, range(len(folder.study)))
    names = {spec.data_set for spec in folder.study}
    for path, kept in _kept(folder, places) if lacking else ():
        if kept.get("key") != key or not all(_same(name, kept) for name in names):
            continue
        table = read_table(path)
        if scored <= set(table.filter(pl.col("part") == "scores")["index"]):
            _keep(folder, [table], names, kept["images"])
            return len(lacking)
    return 0


def taken_rows(path: Path) -> tuple[frozenset[int], pl.DataFrame]:
    """The runs of which rows were taken over, and the rows."""
    import polars as pl

    file = path / TAKEN
    return _read(file, file.stat().st_mtime_ns) if file.exists() else (frozenset(), pl.DataFrame())


@lru_cache(maxsize=8)  # asked for by every cell
def _read(file: Path, _changed: int) -> tuple[frozenset[int], pl.DataFrame]:
    table = read_table(file)
    return frozenset(table["index"].drop_nulls().to_list()), table


def _without_rows(folder: StudyFolder, indices: Iterable[int]) -> list[int]:
    there = taken_rows(folder.path)[0]
    return [index for index in indices if index not in there and folder.state(index) == "pending"]


def _kept(folder: StudyFolder, places: Sequence[Path]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The tables of other folders with their recipes."""
    for path, kept in records_under(places, RECIPES, RECIPES_FORM):
        if path.with_name(TABLE).exists() and path.parent.resolve() != folder.path.resolve():
            yield path.with_name(TABLE), kept


def _pairs(study: Study, lacking: Mapping[int, str], kept: Mapping[str, Any], table: pl.DataFrame) -> dict[int, int]:
    """Which run of a table stands for which that is lacking."""
    data = dict(table.select("index", "data").unique().iter_rows())
    theirs: dict[str, list[int]] = {}
    for index, key in kept["runs"].items():
        if int(index) in data:
            theirs.setdefault(key, []).append(int(index))
    found = {}
    for own, key in lacking.items():
        if key in theirs and _same(study[own].data_set, kept):
            # Several runs have one recipe where an objective does not care how pairs are made of its data.
            alike = [index for index in theirs[key] if data[index] == study[own].data]
            found[own] = (alike or theirs[key])[0]
    if not any(isinstance(one.measure, GroupMeasure) for one in study.measures):
        return found
    # Runs that differ in the seed were compared with each other: all of them, or none.
    part = {spec.group for spec in study if spec.index not in found}
    return {own: index for own, index in found.items() if study[own].group not in part}


def _row_of(table: pl.DataFrame, index: int, spec: RunSpec) -> pl.DataFrame:
    """The rows of a run, which has another index here and may be called otherwise."""
    import polars as pl

    told: dict[str, Any] = {"index": spec.index, "after": spec.after}
    columns = [pl.lit(value, pl.Int64).alias(name) for name, value in told.items() if name in table.columns]
    return table.filter(pl.col("index") == index).with_columns(*columns, data=pl.lit(spec.data))


def _same(name: str, kept: Mapping[str, Any]) -> bool:
    return name in kept["images"] and same_images(name, kept["images"][name])


def _keep(folder: StudyFolder, rows: list[pl.DataFrame], names: Set[str], images: Mapping[str, Any]) -> None:
    import polars as pl

    earlier = taken_rows(folder.path)[1]
    save_table(pl.concat([*([earlier] if len(earlier) else []), *rows], how="diagonal_relaxed"), folder.path / TAKEN)
    keep_images(folder, {name: images[name] for name in names})

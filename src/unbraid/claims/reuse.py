"""What was measured elsewhere by the same recipe: whole runs, or the rows of a table that was kept without its runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.claims.elsewhere import records_under, studies_under
from unbraid.claims.group import TABLE
from unbraid.claims.recipes import asked_of_runs, recipe_hash, training_recipe
from unbraid.data import load
from unbraid.errors import UsageError
from unbraid.files import make_folders, save_table, write_json
from unbraid.reading import read_json
from unbraid.study import Study, StudyFolder
from unbraid.training import describe_data, read_info

if TYPE_CHECKING:
    import polars as pl

__all__ = ["RECIPES", "keep_recipes", "recipes_of", "take_over", "take_rows", "taken_rows"]

RECIPES = "recipes.json"
"""Beside the table of a group: by which recipe each of its runs was trained, and what all were asked."""
TAKEN = "taken.parquet"
"""Rows that were taken over without their runs."""
_FORM = {"runs": dict, "images": dict, "asked": list}
_IMAGES = ("fingerprint", "truth", "positions")


def recipes_of(
    study: Study, indices: Iterable[int] | None = None, trained: Callable[[int], Mapping[str, Any] | None] | None = None
) -> dict[int, dict[str, Any]]:
    """The recipes of a study's runs; ``trained`` tells the options by which a run was trained, where it was."""
    known: dict[int, dict[str, Any]] = {}

    def of(index: int) -> dict[str, Any]:
        if index not in known:
            spec = study[index]
            before = None if spec.after is None else of(spec.after)
            known[index] = training_recipe(spec, before, None if trained is None else trained(index))
        return known[index]

    return {index: of(index) for index in (range(len(study)) if indices is None else indices)}


def keep_recipes(folder: StudyFolder) -> None:
    """Write by which recipes the runs of a table were trained, so that it can be taken further without them."""
    finished = dict(_finished(folder))
    # Those that came as rows came by the recipe that is asked for.
    rows = [index for index in taken_rows(folder.path)[0] if index not in finished]
    keys = finished | {index: recipe_hash(one) for index, one in recipes_of(folder.study, rows).items()}
    images = {folder.study[index].data_set: _images(_info(folder, index)["data"]) for index in finished}
    known = folder.path / RECIPES
    if rows and known.exists():
        images = {**read_json(known, _FORM)["images"], **images}
    about = {"runs": {str(index): key for index, key in sorted(keys.items())}, "images": images}
    write_json(known, {**about, "asked": asked_of_runs(folder.study.measures)})


def take_over(folder: StudyFolder, indices: Sequence[int], places: Sequence[Path]) -> int:
    """Copy finished runs of other studies that were trained by the same recipe on the same images; how many.

    Answers that were measured there and are asked for here count, too: they are stored by what was asked.
    """
    lacking = _lacking(folder, indices)
    count = 0
    for other in studies_under(places) if lacking else ():
        for index, key in _finished(other) if other.path.resolve() != folder.path.resolve() else ():
            if key in lacking and _same_images(other.study[index].data_set, _info(other, index)["data"]):
                target = folder.run(lacking.pop(key))
                make_folders(target.parent)
                shutil.copytree(other.run(index), target)
                count += 1
    return count


def take_rows(folder: StudyFolder, indices: Sequence[int], places: Sequence[Path]) -> int:
    """Take over rows of tables whose ``recipes.json`` says the same recipe, images and questions; of how many runs."""
    import polars as pl

    lacking = _lacking(folder, indices)
    asked = asked_of_runs(folder.study.measures)
    there, found = taken_rows(folder.path)
    parts = [found] if len(found) else []
    count = 0
    for path, kept in records_under(places, RECIPES, _FORM) if lacking else ():
        if not lacking or path.parent.resolve() == folder.path.resolve() or not path.with_name(TABLE).exists():
            continue
        mine = {int(index): lacking[key] for index, key in kept["runs"].items() if key in lacking}
        mine = {theirs: own for theirs, own in mine.items() if own not in there}
        if kept["asked"] != asked or not mine or not _all_same_images(folder, mine.values(), kept["images"]):
            continue
        rows = pl.read_parquet(path.with_name(TABLE)).filter(pl.col("index").is_in(list(mine)))
        parts.append(rows.with_columns(index=pl.col("index").replace_strict(mine, return_dtype=pl.Int64)))
        count += rows["index"].n_unique()
        lacking = {key: own for key, own in lacking.items() if own not in mine.values()}
    if count:
        save_table(pl.concat(parts, how="diagonal_relaxed"), folder.path / TAKEN)
    return count


def taken_rows(path: Path) -> tuple[frozenset[int], pl.DataFrame]:
    """The runs of which rows were taken over, and the rows."""
    import polars as pl

    file = path / TAKEN
    return _read(file, file.stat().st_mtime_ns) if file.exists() else (frozenset(), pl.DataFrame())


@lru_cache(maxsize=8)  # asked for by every cell
def _read(file: Path, _changed: int) -> tuple[frozenset[int], pl.DataFrame]:
    import polars as pl

    table = pl.read_parquet(file)
    return frozenset(table["index"].to_list()), table


def _lacking(folder: StudyFolder, indices: Sequence[int]) -> dict[str, int]:
    there = taken_rows(folder.path)[0]
    todo = [index for index in indices if index not in there and folder.state(index) == "pending"]
    return {recipe_hash(recipe): index for index, recipe in recipes_of(folder.study, todo).items()}


def _finished(folder: StudyFolder) -> Iterator[tuple[int, str]]:
    """The trained runs of a study with the hashes of the recipes that their own folders tell."""
    done = [i for i in range(len(folder.study)) if folder.progress(i) in ("trained", "evaluated")]
    for index in done:
        with suppress(UsageError):  # trained with options that there are no more
            recipe = recipes_of(folder.study, [index], lambda i: _info(folder, i)["objective"]["options"])[index]
            yield index, recipe_hash(recipe)


def _info(folder: StudyFolder, index: int) -> dict[str, Any]:
    return read_info(folder.run(index))


def _images(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: data.get(key) for key in _IMAGES}


def _all_same_images(folder: StudyFolder, indices: Iterable[int], known: Mapping[str, Any]) -> bool:
    names = {folder.study[index].data_set for index in indices}
    return all(name in known and _same_images(name, known[name]) for name in names)


def _same_images(name: str, data: Mapping[str, Any]) -> bool:
    """Whether a data set still has these images; one that is not here is known by its name and options alone."""
    today = _images_today(name)
    return today is None or _images(data) == today


@lru_cache(maxsize=32)
def _images_today(name: str) -> dict[str, Any] | None:
    try:
        return _images(describe_data(load(name)))
    except UsageError:
        return None

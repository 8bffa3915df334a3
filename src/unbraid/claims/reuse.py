"""Runs that were trained elsewhere by the same recipe, and by which recipe the runs of a group were trained."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from unbraid.claims.elsewhere import studies_under
from unbraid.claims.recipes import asked_of_runs, recipe_hash, training_recipe
from unbraid.data import load
from unbraid.errors import UsageError
from unbraid.files import make_folders, write_json
from unbraid.reading import read_json
from unbraid.study import Study, StudyFolder
from unbraid.training import describe_data, read_info

__all__ = [
    "RECIPES",
    "RECIPES_FORM",
    "begin_recipes",
    "hashes_of",
    "keep_images",
    "recipes_of",
    "same_images",
    "take_over",
]

RECIPES = "recipes.json"
"""In the folder of a group from its beginning: by which recipe each run is trained, and what all are asked."""
RECIPES_FORM = {"runs": dict, "images": dict, "asked": list, "key?": str}
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


def hashes_of(study: Study, indices: Iterable[int] | None = None) -> dict[int, str]:
    """The recipes of a study's runs by their hashes."""
    return {index: recipe_hash(one) for index, one in recipes_of(study, indices).items()}


def begin_recipes(folder: StudyFolder, key: str) -> None:
    """Write down the recipes of a group before it is trained: a default that changes later makes other ones of names.

    ``key`` is that of the group; it is the same as long as its recipes are.
    """
    path = folder.path / RECIPES
    known = read_json(path, RECIPES_FORM) if path.exists() else {"images": {}}
    if known.get("key") != key:
        runs = {str(index): one for index, one in hashes_of(folder.study).items()}
        asked = asked_of_runs(folder.study.measures)
        write_json(path, {"key": key, "runs": runs, "images": known["images"], "asked": asked})


def keep_images(folder: StudyFolder, taken: Mapping[str, Any] | None = None) -> None:
    """Write down on which images runs were trained: those that are here, and those of which rows were ``taken``."""
    path = folder.path / RECIPES
    known = read_json(path, RECIPES_FORM)
    found = dict(taken or {})
    for index in _trained(folder):
        name = folder.study[index].data_set
        if name not in found:
            found[name] = _images(_info(folder, index)["data"])
    write_json(path, {**known, "images": {**known["images"], **found}})


def take_over(folder: StudyFolder, indices: Sequence[int], places: Sequence[Path]) -> int:
    """Copy finished runs of other studies that were trained by the same recipe on the same images; how many.

    Answers that were measured there and are asked for here count, too: they are stored by what was asked.
    """
    lacking: dict[str, list[int]] = defaultdict(list)
    for own, key in hashes_of(folder.study, [index for index in indices if folder.state(index) == "pending"]).items():
        lacking[key].append(own)
    count = 0
    for other in studies_under(places) if lacking else ():
        for index, key in _finished(other) if other.path.resolve() != folder.path.resolve() else ():
            if key not in lacking or not same_images(other.study[index].data_set, _info(other, index)["data"]):
                continue
            for own in lacking.pop(key):
                make_folders(folder.run(own).parent)
                shutil.copytree(other.run(index), folder.run(own))
                count += 1
    return count


def _trained(folder: StudyFolder) -> list[int]:
    return [index for index in range(len(folder.study)) if folder.progress(index) in ("trained", "evaluated")]


def _finished(folder: StudyFolder) -> Iterator[tuple[int, str]]:
    """The trained runs of a study with the hashes of their recipes, as their folders tell options.

    What names such as ``mlp`` stood for is in the recipes of a group; where there are none it is taken to be what it
    is today.
    """
    path = folder.path / RECIPES
    told = read_json(path, RECIPES_FORM)["runs"] if path.exists() else {}
    for index in _trained(folder):
        with suppress(UsageError):  # trained with options that there are no more
            recipe = recipes_of(folder.study, [index], lambda i: _info(folder, i)["objective"]["options"])[index]
            key = recipe_hash(recipe)
            if told.get(str(index), key) == key:
                yield index, key


def _info(folder: StudyFolder, index: int) -> dict[str, Any]:
    return read_info(folder.run(index))


def _images(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: data.get(key) for key in _IMAGES}


def same_images(name: str, data: Mapping[str, Any]) -> bool:
    """Whether a data set still has these images; one that is not here is known by its name and options alone."""
    today = _images_today(name)
    return today is None or _images(data) == today


@lru_cache(maxsize=32)
def _images_today(name: str) -> dict[str, Any] | None:
    try:
        return _images(describe_data(load(name)))
    except UsageError:
        return None

"""Whether the run in the folder of a matrix is the one that its recipe asks for."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from unbraid import objectives
from unbraid.data import Dataset, load
from unbraid.options import Named
from unbraid.transfer.recipes import Recipe

__all__ = ["batch_of", "difference"]

RUN_FORM = {"status": str, "objective": {"name": str, "options": dict}, "data": dict, "step": int, "seed": int}
"""What is read of a run's record."""


def difference(record: Mapping[str, Any], made: Recipe, training: str, seed: int) -> str:
    """What a run was trained with that is not what the recipe asks for, in words; empty if it is that run.

    A run that is not finished may have fewer steps.
    """
    about = made.trained()
    objective = objectives.make(about["objective"], about["options"])
    stored = record["objective"]
    if stored["name"] != objective.name:
        return f"objective {stored['name']}, not {objective.name}"
    before = {**_plain(objectives.default_options(objective)), **stored["options"]}
    for name, value in _plain(objectives.options_of(objective)).items():
        if before.get(name) != value:
            return f"{name} = {before.get(name)!r}, not {value!r}"
    data = made.domain.data(training)
    asked = {
        "seed": seed,
        "batch_size": batch_of(objective, about["batch_size"], _load(data, _place()), made.domain.factor),
        **({"step": about["steps"]} if record["status"] == "finished" else {}),
    }
    for name, number in asked.items():
        if record.get(name) != number:
            return f"{name} = {record.get(name)}, not {number}"
    for name, value in _described(data, _place()).items():
        if record["data"].get(name) != value:
            return f"data whose {name} is {record['data'].get(name)}, not {value} as of {data}"
    if (record.get("start") is None) != (not made.start):
        return f"{'no start' if made.start else 'a start'} from a run on other data"
    return ""


def batch_of(objective: Any, images: int, data: Dataset, factor: str) -> int:
    """As many images for everybody: a pair is two, and a stream by class counts those of each class."""
    stream = Named.read(objective.needs).name
    if stream in ("pairs", "sequences"):
        return max(1, images // 2)
    if stream == "by-class":
        classes = (data.factor_sizes or ())[data.factor_names.index(factor)] if factor else len(data.classes)
        return max(1, images // classes)
    return images


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """As a file holds them."""
    found: dict[str, Any] = json.loads(json.dumps(dict(options), default=str))
    return found


def _place() -> str:
    return os.environ.get("UNBRAID_DATA", "")


@lru_cache(maxsize=8)
def _load(name: str, _: str) -> Dataset:
    return load(name)


@lru_cache(maxsize=32)
def _described(name: str, place: str) -> dict[str, Any]:
    """What says which images they are: fingerprints, so that another source of the same name is another."""
    from unbraid.training import describe_data

    about = describe_data(_load(name, place))
    return {what: about[what] for what in ("fingerprint", "truth", "positions")}

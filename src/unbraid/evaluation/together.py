"""Measures that look at several runs at once, because what they make of the data serves them all."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.errors import UsageError
from unbraid.evaluation.base import _LISTENER, Condition, SharedMeasure, make, say
from unbraid.evaluation.measuring import (
    Measured,
    Rows,
    _append,
    _checked,
    _from_json,
    _plain_condition,
    _read_partial,
    _Store,
    _to_json,
    read_rows,
)
from unbraid.evaluation.models import as_run
from unbraid.files import write_json
from unbraid.options import Named

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.training import Run

__all__ = ["measure_together", "rows_together"]


def measure_together(
    runs: Sequence[Run | Callable[[np.ndarray], Any]],
    data: ImageDataset,
    asked: str | Named | SharedMeasure,
    *,
    seed: int = 0,
    again: bool = False,
    progress: Callable[[str], None] | None = None,
) -> list[Measured]:
    """What a measure says of each of these runs, which it must apply to; answers lie with each run as ever.

    What was stored is read, run by run and row by row; the others are asked together.
    """
    chosen = make(asked)
    if not isinstance(chosen, SharedMeasure):
        raise UsageError(f"measure {chosen.name!r} looks at one run at a time; call unbraid.evaluation.measure")
    models = [as_run(run) for run in runs]
    for model in models:
        if not chosen.applies(model, data):
            name = "the model" if model.path is None else model.path.name
            raise UsageError(f"{chosen.name} does not apply to {name} on {data.name}: {chosen.lacks(model, data)}")
    stores = [_Store(model, data, seed) if model.path is not None else None for model in models]
    listening = _LISTENER.set(progress)
    try:
        for store in stores if again else ():
            if store is not None:
                store.forget(chosen)
        found = rows_together(chosen, models, data, seed, stores)
    finally:
        _LISTENER.reset(listening)
    paths = [None if store is None else store.path(chosen) for store in stores]
    return [Measured(chosen, rows, path) for rows, path in zip(found, paths, strict=True)]


def rows_together(
    asked: SharedMeasure, models: Sequence[Run], data: ImageDataset, seed: int, stores: Sequence[_Store | None]
) -> list[Rows]:
    """The rows of each run, as they would be read from its file."""
    whole = [store is not None and store.whole(asked) for store in stores]
    known: list[dict[str, dict[str, Any]]] = []
    for store, done in zip(stores, whole, strict=True):
        if store is not None and not done:
            store.make()
        known.append({} if store is None or done else _read_partial(store.partial(asked)))

    def lacking(condition: Condition) -> list[int]:
        key = _key(asked, condition)
        return [place for place, done in enumerate(whole) if not done and key not in known[place]]

    order: list[str] = []
    for condition, found in () if all(whole) else asked.rows_of(models, data, seed, lacking):
        under, key = _plain_condition(asked, condition), _key(asked, condition)
        if key in order:
            raise UsageError(f"measure {asked.name!r} gives the condition {under} twice")
        order.append(key)
        say(f"{asked.name}: {', '.join(f'{name} {value}' for name, value in under.items())}")
        for place, scores in found.items():
            row = {"condition": under, "scores": _to_json(_checked(asked, scores))}
            known[place][key] = row
            if (store := stores[place]) is not None:
                _append(store.partial(asked), row)
    rows: list[Rows] = []
    for store, done, own in zip(stores, whole, known, strict=True):
        if store is not None and done:
            rows.append(read_rows(store.path(asked)))
            continue
        if store is not None:
            write_json(store.path(asked), {**store.record(asked), "rows": [own[key] for key in order]})
            store.partial(asked).unlink(missing_ok=True)
        rows.append(tuple((own[key]["condition"], _from_json(own[key]["scores"])) for key in order))
    return rows


def _key(asked: SharedMeasure, condition: Condition) -> str:
    return json.dumps(_plain_condition(asked, condition), sort_keys=True)

"""The table of a study: one row per run and condition, in Parquet; what is missing is counted, not hidden."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from unbraid import objectives
from unbraid.errors import UsageError
from unbraid.evaluation import GroupMeasure, read_share
from unbraid.files import save_table
from unbraid.reading import read_json, understood
from unbraid.study.conditions import Answer, condition_rows
from unbraid.study.evaluation import Answered, answers_of
from unbraid.study.folder import StudyFolder
from unbraid.study.grid import RunSpec, added_words

__all__ = ["TABLE", "answers_by_run", "condition_columns", "make_table", "write_table"]

TABLE = "table.parquet"

SPECIFICATION = {
    "index": pl.Int64,
    "data": pl.String,
    "objective": pl.String,
    "strength_name": pl.String,
    "strength": pl.Float64,
    "seed": pl.Int64,
    "net": pl.String,
    "steps": pl.Int64,
    "batch_size": pl.Int64,
}
"""What a run is."""
STATE = {"status": pl.String, "error": pl.String, "seconds": pl.Float64}
"""How far it came. Between the two stand the columns of conditions."""


def make_table(folder: StudyFolder) -> pl.DataFrame:
    """One row per run x condition of all runs that were at least begun.

    ``status`` is ``evaluated``, ``trained``, ``started`` or ``failed`` (``error`` says why); what was not measured is
    null. Columns: what the run is (``index``, ``data``, ``objective``, ``strength_name``, ``strength``, ``seed``,
    ``net``, ``steps``; where a study has them ``augment``, what is done to batches, ``penalties``, what is added to
    the loss, and ``after``, the index of the run it began from); the conditions of its measures, such as
    ``representation``, and ``on``, the data set where a measure names some; its training (``seconds``); and all scores
    by name, with ``<name>_ceiling`` and scalar parts as ``<name>_<part>`` (``dci_disentanglement``). What was
    measured under no condition, such as losses and ``udr``, stands in every row of its run.
    """
    specs = {spec.index: spec for spec in folder.study}
    states = {index: folder.state(index) for index in specs}
    begun = [index for index, state in states.items() if state != "pending"]
    answers = answers_by_run(folder, [index for index in begun if states[index] == "evaluated"])
    names = [entry.measure.name for entry in folder.study.measures]
    measured = condition_rows(answers, names, (*SPECIFICATION, *STATE, "variant", "augment", "penalties", "after"))
    rows: list[dict[str, Any]] = []
    conditions: dict[str, None] = {}
    for index in begun:
        spec = specs[index]
        entry = asdict(spec)
        entry["strength_name"] = entry.pop("parameter")
        about = {key: entry.get(key) for key in SPECIFICATION}
        state = {"status": states[index], **_training(folder, index), **_variant(spec), **_added(spec)}
        for condition, scores in measured.get(index, [({}, {})]):
            conditions |= dict.fromkeys(condition)
            rows.append({**scores, **about, **condition, **state})
    if not rows:
        return pl.DataFrame(schema={**SPECIFICATION, **STATE})
    _unify(rows, conditions)
    table = pl.DataFrame(rows, schema_overrides={**SPECIFICATION, **STATE}, infer_schema_length=None)
    first = [*SPECIFICATION, *conditions, *STATE]
    missing = [pl.lit(None, STATE[name]).alias(name) for name in STATE if name not in table.columns]
    return table.with_columns(missing).select(*first, *(name for name in table.columns if name not in first))


def write_table(folder: StudyFolder) -> Path:
    """Write :func:`make_table` to the study's folder."""
    path = folder.path / TABLE
    save_table(make_table(folder), path)
    return path


def condition_columns(table: pl.DataFrame) -> list[str]:
    """The columns of a study's table that say under which condition a row was measured."""
    first, last = (table.columns.index(name) for name in (list(SPECIFICATION)[-1], next(iter(STATE))))
    return table.columns[first + 1 : last]


def answers_by_run(folder: StudyFolder, indices: Iterable[int]) -> dict[int, list[Answer]]:
    """What is known of these measured runs; a group measure compares those of them that differ in the seed alone."""
    found: dict[int, list[Answer]] = {}
    groups: dict[Any, list[tuple[int, Answered]]] = defaultdict(list)
    for index in indices:
        found[index] = []
        for number, answer in enumerate(answers_of(folder.run(index))):
            name, place = answer.evaluation.measure.name, {} if answer.on is None else {"on": answer.on}
            for condition, scores in answer.rows:
                clash = {f"{name}_on" if place and key == "on" else key: value for key, value in condition.items()}
                found[index].append((name, {**place, **clash}, scores))
            if answer.share is not None:
                groups[number, folder.study[index].group].append((index, answer))
    for members in groups.values():
        first = members[0][1]
        if len(members) < 2 or not isinstance(first.evaluation.measure, GroupMeasure):
            continue
        files = [answer.share for _, answer in members if answer.share is not None]
        shares = [read_share(path) for path in files]
        try:
            with understood("what was kept of them"):
                compared = first.evaluation.measure.compare(shares, first.evaluation.seed)
        except UsageError as error:
            names = ", ".join(str(path) for path in files)
            raise UsageError(f"{names} cannot be compared: {error}; delete the damaged one to measure anew") from error
        for (index, answer), scores in zip(members, compared, strict=True):
            place = {} if answer.on is None else {"on": answer.on}
            found[index].append((answer.evaluation.measure.name, place, scores))
    return found


def _unify(rows: list[dict[str, Any]], conditions: Iterable[str]) -> None:
    """A condition that is a word under one measure and a number under another becomes words."""
    for key in conditions:
        kinds = {isinstance(row[key], str) for row in rows if row.get(key) is not None}
        if len(kinds) > 1:
            for row in rows:
                row[key] = None if row.get(key) is None else str(row[key])


def _training(folder: StudyFolder, index: int) -> dict[str, Any]:
    run = folder.run(index)
    found: dict[str, Any] = {}
    if (run / "run.json").exists():
        found["seconds"] = float(read_json(run / "run.json", {"seconds": float})["seconds"])
    failure = folder.failure(index)
    return found | ({} if failure is None else {"error": failure["error"]})


def _added(spec: RunSpec) -> dict[str, str | int]:
    """What was done to its batches, added to its loss and which run it began from, where a study does such things."""
    added = {key: words for key, words in added_words(spec.options).items() if words}
    return added | ({} if spec.after is None else {"after": spec.after})


def _variant(spec: RunSpec) -> dict[str, str]:
    """Which of its published losses an objective minimises, where there are several."""
    variant = spec.options.get("variant", getattr(objectives.get(spec.objective), "variant", None))
    return {} if variant is None else {"variant": variant}

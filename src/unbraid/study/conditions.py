"""From the answers of measures to the rows of a table: one per condition."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from unbraid.errors import UsageError
from unbraid.metrics import Score

__all__ = ["Answer", "Columns", "condition_rows", "score_columns"]

Answer = tuple[str, Mapping[str, Any], Mapping[str, Score | float]]
"""Measure, condition, scores."""
Columns = dict[str, float | None]
Key = TypeVar("Key")


def condition_rows(
    answers: Mapping[Key, Sequence[Answer]], measures: Sequence[str], taken: Iterable[str] = ()
) -> dict[Key, list[tuple[dict[str, Any], Columns]]]:
    """The rows of each run: conditions with their columns.

    There is a row for every condition that no other one refines. What was measured under a wider condition, such as the
    losses of a run under none, stands in all rows that it holds for. Where several measures use a name, the one that is
    called so keeps it, else the first of ``measures``; the others put their own name before it. So does a measure whose
    name for something is ``taken`` by another column.

    >>> condition_rows({0: [("scores", {"code": "mean"}, {"mig": 0.5}), ("losses", {}, {"loss": 2.0})]}, [])
    {0: [({'code': 'mean'}, {'mig': 0.5, 'loss': 2.0})]}
    """
    reserved = set(taken)
    flat = {
        key: [
            (
                measure,
                {f"{measure}_{name}" if name in reserved else name: value for name, value in condition.items()},
                {name: value for score in scores.items() for name, value in score_columns(*score).items()},
            )
            for measure, condition, scores in own
        ]
        for key, own in answers.items()
    }
    used: dict[str, set[str]] = {name: set() for name in measures}
    for measure, condition, columns in (row for own in flat.values() for row in own):
        reserved |= condition.keys()
        used.setdefault(measure, set()).update(columns)
    owners = {measure: measure for measure, names in used.items() if measure in names - reserved}
    for measure, names in used.items():
        for name in names - reserved:
            owners.setdefault(name, measure)

    def own_names(measure: str, columns: Columns) -> Columns:
        return {n if owners.get(n) == measure else f"{measure}_{n}": value for n, value in columns.items()}

    return {
        key: _merge([(condition, own_names(measure, columns)) for measure, condition, columns in own])
        for key, own in flat.items()
    }


def _merge(found: Sequence[tuple[dict[str, Any], Columns]]) -> list[tuple[dict[str, Any], Columns]]:
    conditions = [condition for condition, _ in found]
    finest = [
        condition
        for position, condition in enumerate(conditions)
        if condition not in conditions[:position] and not any(condition.items() < c.items() for c in conditions)
    ]
    rows = []
    for condition in finest:
        columns: Columns = {}
        for wider, own in found:
            if wider.items() <= condition.items():
                clash = [name for name in own if wider == condition and columns.get(name, own[name]) != own[name]]
                if clash:
                    told = ", ".join(f"{key} {value}" for key, value in condition.items()) or "no condition"
                    raise UsageError(
                        f"a measure was asked twice and says two things of {clash[0]} ({told}): {columns[clash[0]]} "
                        f"and {own[clash[0]]}. Settings that no condition tells apart belong into two studies"
                    )
                columns |= own
        rows.append((condition, columns))
    return rows or [({}, {})]


def score_columns(name: str, score: Score | float) -> Columns:
    """The columns of one score: value, ceiling where it has one, and its scalar parts; null for what is not finite.

    >>> score_columns("mig", Score("mig", 0.4, 0.9, {"gaps": [0.3, 0.5]}))
    {'mig': 0.4, 'mig_ceiling': 0.9}
    """
    if not isinstance(score, Score):
        return {name: _finite(score)}
    columns: Columns = {name: _finite(score.value)}
    if not math.isnan(score.ceiling):
        columns[f"{name}_ceiling"] = _finite(score.ceiling)
    for part, value in score.parts.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            columns[f"{name}_{part}"] = _finite(value)
    return columns | (_downstream_columns(score) if name == "downstream" else {})


def _downstream_columns(score: Score) -> Columns:
    """Mean test accuracy per learner and number of labels, and what 100 labels reach of that with the most labels."""
    columns: Columns = {}
    sizes = [int(size) for size in score.settings["sizes"]]
    for learner, found in score.parts.items():
        accuracy = dict(zip(sizes, map(float, found["mean_test"]), strict=True))
        columns |= {f"{learner}_{size}": _finite(value) for size, value in accuracy.items()}
        if 100 in accuracy and max(sizes) > 100:
            most = accuracy[max(sizes)]
            columns[f"{learner}_efficiency"] = _finite(accuracy[100] / most) if most else None
    return columns


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None

"""What was measured of a run and lies in its folder: every answer with its conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbraid import evaluation
from unbraid.metrics import Score, number_of
from unbraid.report.page.captions import RUN
from unbraid.report.page.markup import Section, figure, section
from unbraid.report.page.tables import data_table
from unbraid.study import EVALUATION, answers_of

__all__ = ["StoredAnswer", "answers_in", "answers_of_a_study", "measures_section"]


ELSEWHERE = (evaluation.FactorsUnderCorruption.name,)
"""Measures that have a section of their own."""


@dataclass(frozen=True)
class StoredAnswer:
    """What one measure said of a run on its data."""

    measure: str
    settings: Mapping[str, Any]
    seed: int
    rows: Sequence[tuple[Mapping[str, Any], Mapping[str, Score | float | None]]]
    """Conditions and scores."""
    source: str
    """The file it was read from."""
    step: int | None = None
    """Of the run when it was measured, where the file says so."""
    data: str | None = None
    """What it was measured on; ``None`` is what the run was trained on."""


def answers_in(record: Mapping[str, Any], source: str) -> tuple[StoredAnswer, ...]:
    """The answers that ``unbraid evaluate`` wrote into ``scores.json``, besides the scores of the codes."""

    def read(scores: Mapping[str, Any]) -> dict[str, Score | float | None]:
        return {
            str(name): Score.from_json(one)
            if isinstance(one, dict)
            else number_of(one)
            if isinstance(one, str)
            else one
            for name, one in scores.items()
        }

    return tuple(
        StoredAnswer(
            str(name),
            dict(answer["settings"]),
            int(record.get("seed", 0)),
            [(dict(row["condition"]), read(row["scores"])) for row in answer["rows"]],
            source,
            record.get("step"),
            record.get("data"),
        )
        for name, answer in (record.get("measures") or {}).items()
    )


def answers_of_a_study(path: Path, shown: str | None) -> tuple[StoredAnswer, ...]:
    """The answers of a study about a run on its own data, without the representation whose scores are shown anyway."""
    found = []
    for answer in answers_of(path):
        asked = answer.evaluation
        codes = asked.measure.name == "disentanglement"
        rows = [row for row in answer.rows if not (codes and row[0].get("representation") == shown)]
        if answer.own and rows:
            settings = evaluation.settings_of(asked.measure)
            found.append(StoredAnswer(asked.measure.name, settings, asked.seed, rows, EVALUATION))
    return tuple(found)


def measures_section(answers: Sequence[StoredAnswer], step: int | None) -> Section | None:
    """A table with a row per measure, condition and score; ``step`` is where the run is now."""
    rows = [
        (
            evaluation.get(answer.measure).title if answer.measure in evaluation.names() else answer.measure,
            ", ".join(f"{name} {value}" for name, value in condition.items()),
            evaluation.title(name),
            None if score is None else float(score),
        )
        for answer in answers
        if answer.measure not in ELSEWHERE
        for condition, scores in answer.rows
        for name, score in scores.items()
    ]
    if not rows:
        return None
    stale = sorted({answer.step for answer in answers if answer.step is not None and answer.step != step})
    old = f" Measured at step {', '.join(f'{one:,}' for one in stale)}, and the run went on since." if stale else ""
    read = f"Read from {' and '.join(dict.fromkeys(answer.source for answer in answers))}.{old}"
    table = data_table(["measure", "condition", "score", "value"], rows, "Measures", digits=4)
    return section("Measures", figure(f"{RUN['measures']} {read}", table))

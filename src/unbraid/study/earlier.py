"""Studies measured by version 0.1: their scores are read as they lie in the runs' folders, nothing is measured again.

There a run's ``evaluation.json`` held the settings and the losses, ``scores-mean.json`` and ``scores-sampled.json`` the
scores of codes, ``codes.npz`` the codes for UDR.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from unbraid.evaluation import Condition, Scores
from unbraid.metrics import Score
from unbraid.reading import read_json
from unbraid.study.grid import Evaluation, usual_measures

__all__ = ["earlier_answers", "earlier_measures"]

Rows = tuple[tuple[Condition, Scores], ...]


def earlier_measures(record: Mapping[str, Any]) -> tuple[Evaluation, ...]:
    """The measures that a run's ``evaluation.json`` amounts to."""
    return usual_measures(**record["settings"])


def earlier_answers(run: Path, record: Mapping[str, Any]) -> Iterator[tuple[Evaluation, Rows, Path | None]]:
    """Every measure with its rows and a file that they lie in."""
    disentanglement, losses, udr = earlier_measures(record)
    rows: list[tuple[Condition, Scores]] = []
    first: Path | None = None
    for kind in record["settings"]["representations"]:
        path = run / f"scores-{kind}.json"
        if path.exists():
            first = first or path
            scores = {
                name: Score.from_json(score) for name, score in read_json(path, {"scores": dict})["scores"].items()
            }
            rows.append(({"representation": kind}, scores))
    yield disentanglement, tuple(rows), first
    yield losses, (({}, dict(record["losses"])),) if record["losses"] else (), run / "evaluation.json"
    yield udr, (), run / "codes.npz"

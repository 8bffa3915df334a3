"""The runs of a benchmark: what each is, and the file with what it said of its split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbraid.data import parse
from unbraid.generalization import Answers, read_predictions
from unbraid.metrics import Score
from unbraid.study.evaluation import answers_of
from unbraid.study.folder import StudyFolder
from unbraid.study.generalization.models import MEASURE, Model, model_of
from unbraid.study.grid import RunSpec, split_data

__all__ = ["Trained", "plain_data", "split_kind", "trained_runs"]


@dataclass(frozen=True)
class Trained:
    """One run of a benchmark that was asked about its split."""

    index: int
    data: str
    """Without its split."""
    split: str
    model: Model
    strength: float | None
    seed: int
    predictions: Path
    dci: float | None = None
    spec: RunSpec | None = None

    def answers(self) -> Answers:
        """What it said, read from its file."""
        return read_predictions(self.predictions).answers()

    @property
    def about(self) -> dict[str, Any]:
        """The columns that all tables begin with."""
        return {
            "data": self.data,
            "split": self.split,
            "model": self.model.name,
            "kind": self.model.kind,
            "strength": self.strength,
            "seed": self.seed,
            "index": self.index,
        }


def trained_runs(folder: StudyFolder) -> Iterator[Trained]:
    """The runs of a benchmark that were asked about their splits."""
    for spec in folder.study:
        if folder.progress(spec.index) != "evaluated":
            continue
        dci, path = None, None
        for answer in answers_of(folder.run(spec.index)):
            if answer.evaluation.measure.name == MEASURE and answer.source is not None and answer.own:
                path = answer.source.with_suffix(".parquet")
            for _, scores in answer.rows:
                found = scores.get("dci")
                if isinstance(found, Score):
                    dci = float(found.parts.get("disentanglement", found.value))
        if path is not None:
            kind = split_kind(spec.data)
            yield Trained(
                spec.index, plain_data(spec.data), kind, model_of(spec), spec.strength, spec.seed, path, dci, spec
            )


def split_kind(text: str) -> str:
    """The split that a study's data name.

    >>> split_kind("dsprites-90:split=random @ protocol=uni")
    'random'
    """
    found = parse(split_data(text)[0])[1].get("split")
    return "own" if isinstance(found, dict) else str(found)


def plain_data(text: str) -> str:
    """A study's data without their split and pairs.

    >>> plain_data("sprites32:shape=0,split=random @ protocol=uni")
    'sprites32:shape=0'
    """
    name, colon, options = split_data(text)[0].partition(":")
    kept = [part for part in options.split(",") if part.partition("=")[0].strip() not in ("split", "side")]
    return f"{name}{colon}{','.join(kept)}" if kept and colon else name

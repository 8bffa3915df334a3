"""The runs of a benchmark: what each is, and the file with what it said of its split."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbraid.data import parse
from unbraid.generalization import Answers, Predictions, read_predictions
from unbraid.metrics import Score
from unbraid.paths import quoted
from unbraid.study.evaluation import Answered, answers_of
from unbraid.study.folder import StudyFolder
from unbraid.study.generalization.models import MEASURE, Model, models_of
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
    """Disentanglement of its mean codes on the images it was trained on; ``None`` if it is not known."""
    spec: RunSpec | None = None
    dci_by: str | None = None
    """How that was estimated, and on how many codes."""

    def answers(self) -> Answers:
        """What it said, with every analysis."""
        return self.read().answers()

    def read(self) -> Predictions:
        """What it said, read from its file."""
        if self.spec is None:
            remedy = "make the benchmark anew"
        else:  # STUDY/runs/00000/scores/generalization-....parquet
            study = self.predictions.absolute().parents[3]
            remedy = f"measure it anew: unbraid generalize run FILE --out {quoted(study)} --reevaluate"
        return read_predictions(self.predictions, remedy=remedy)

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
    models = models_of(folder.study)
    for spec in folder.study:
        if folder.progress(spec.index) != "evaluated":
            continue
        own = [answer for answer in answers_of(folder.run(spec.index)) if answer.own]
        asked = [answer.source for answer in own if answer.evaluation.measure.name == MEASURE]
        path = next((source.with_suffix(".parquet") for source in asked if source is not None), None)
        if path is not None:
            about = (plain_data(spec.data), split_kind(spec.data), models[spec.index], spec.strength, spec.seed)
            dci, by = _dci(own)
            yield Trained(spec.index, *about, path, dci, spec, by)


def _dci(answers: Sequence[Answered]) -> tuple[float | None, str | None]:
    """DCI of the mean codes, and by what: codes drawn from the posterior are noisier."""
    for answer in answers:
        for condition, scores in answer.rows:
            found = scores.get("dci")
            if condition.get("representation") == "mean" and isinstance(found, Score):
                value, said = float(found.parts.get("disentanglement", found.value)), found.settings
                words = [str(said["estimator"])] if "estimator" in said else []
                words += [f"{said['stages']} stages"] if "stages" in said else []
                words += [f"{said['train']} + {said['test']} codes"] if "train" in said else []
                return (None if math.isnan(value) else value), ", ".join(words) or None
    return None, None


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

"""Which factor of a representation breaks under which corruption, as a measure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unbraid.corruptions import VERSION, Corrupted, Step, chosen_steps
from unbraid.errors import UsageError, unknown_name
from unbraid.evaluation.base import Condition, Measure, Row, Scores, register
from unbraid.evaluation.factor_readers import CodeReader, FactorReader, PredictionReader
from unbraid.evaluation.models import Function, representations_of
from unbraid.evaluation.predictions import class_tasks, has_classes
from unbraid.metrics import Score

if TYPE_CHECKING:
    from unbraid.data import Dataset
    from unbraid.training import Run

__all__ = ["FactorsUnderCorruption", "KeptTable", "kept_table"]

READOUTS = ("linear", "trees")
READ = ("auto", "codes", "predictions")
TOLD = 0.05
"""A factor that clean images tell less of than this above guessing cannot break."""


@register("factors-under-corruption")
@dataclass(frozen=True)
class FactorsUnderCorruption(Measure):
    """How much of each factor is still told from corrupted images, as a share of what clean ones tell.

    A read-out is fitted once on the codes of clean images and reads those of corrupted ones: R² of each factor. Models
    that predict are judged by their predictions: R² or accuracy. 1 is as from clean images, 0 no better than guessing.
    """

    title = "Factors under corruption"
    version: ClassVar[int] = VERSION
    titles: ClassVar[Mapping[str, str]] = {"kept": "kept", "told": "told (mean)"}
    needs = "a model that encodes or predicts, and images of 16 to 512 pixels with factors or classes"
    corruptions: tuple[str, ...] = ("imagenet-c",)
    """Suites (imagenet-c, imagenet-c-holdout, mnist-c, own), corruptions, or several of them joined by then."""
    severities: tuple[int, ...] = (1, 3, 5)
    """Of corruptions that have several and do not say theirs."""
    images: int = 1_000
    """Images that factors are told from, the same under every corruption."""
    train: int = 4_000
    """Clean images that the read-out is fitted on."""
    readout: str = "linear"
    """What reads factors off codes: linear (least squares), trees (boosted)."""
    read: str = "auto"
    """What is asked: codes, predictions; auto is predictions of models that predict what the data know."""

    def __post_init__(self) -> None:
        for name in ("images", "train"):
            if getattr(self, name) < 2:
                raise UsageError(f"{name} must be at least 2, got {getattr(self, name)}")
        for name, known in (("readout", READOUTS), ("read", READ)):
            if getattr(self, name) not in known:
                raise unknown_name(name, getattr(self, name), known)
        chosen_steps(self.corruptions, self.severities)

    def made_of(self) -> Mapping[str, Any]:
        own = {step.corruption.full_name: step.corruption.apply for steps in self._steps for step in steps}
        return {**super().made_of(), **own}

    @property
    def _steps(self) -> list[tuple[Step, ...]]:
        return chosen_steps(self.corruptions, self.severities)

    def applies(self, run: Run, data: Dataset) -> bool:
        fits = data.has_pictures and data.shape[2] in (1, 3) and all(16 <= side <= 512 for side in data.shape[:2])
        return fits and (self._by_predictions(run, data) or self._by_codes(run, data))

    def rows(self, run: Run, data: Dataset, seed: int) -> Iterator[Row]:
        asked = _Asked(self, run, data, seed)
        yield {"corruption": "none", "severity": 0}, partial(asked.scores, ())
        for steps in self._steps:
            yield _condition(steps), partial(asked.scores, steps)

    def _by_predictions(self, run: Run, data: Dataset) -> bool:
        if self.read == "codes" or isinstance(run, Function) or not run.can("predict"):
            return False
        if getattr(run.objective, "predicts", "") == "factors":
            return data.factor_names == run.problem.factor_names
        factors = [task.factor for task in class_tasks(run)] or [""]
        return all(has_classes(run, data, factor) for factor in factors)

    def _by_codes(self, run: Run, data: Dataset) -> bool:
        return self.read != "predictions" and bool(representations_of(run)) and (data.has_factors or data.has_labels)

    def reader(self, run: Run, data: Dataset, seed: int) -> FactorReader:
        """What tells factors from images of these data."""
        if self._by_predictions(run, data):
            return PredictionReader(run, data, self.images, seed)
        return CodeReader(run, data, self.train, self.images, self.readout, seed)


@dataclass(frozen=True)
class _Asked:
    """One reader for all corruptions, made when the first row is."""

    measure: FactorsUnderCorruption
    run: Run
    data: Dataset
    seed: int

    @cached_property
    def _reader(self) -> FactorReader:
        return self.measure.reader(self.run, self.data, self.seed)

    @cached_property
    def _clean(self) -> np.ndarray:
        return self._reader.scores(self.data)

    def scores(self, steps: tuple[Step, ...]) -> Scores:
        reader, clean = self._reader, self._clean
        told = reader.scores(Corrupted(self.data, steps, seed=self.seed)) if steps else clean
        above = clean - reader.guess
        share = np.divide(told - reader.guess, above, out=np.full(len(told), np.nan), where=above >= TOLD)
        kept = np.maximum(share, 0)
        settings = {"factors": list(reader.names), "told_in": reader.unit, "images": self.measure.images}
        mean = float(np.nanmean(kept)) if np.isfinite(kept).any() else float("nan")
        parts = {"per_factor": kept, "told": told, "clean": clean, "guess": reader.guess}
        return {"kept": Score("kept", mean, 1.0, parts, {**settings, "seed": self.seed}), "told": float(told.mean())}


def _condition(steps: tuple[Step, ...]) -> Condition:
    if len(steps) == 1:
        return {"corruption": steps[0].corruption.short_name, "severity": int(steps[0].severity)}
    return {"corruption": " then ".join(map(str, steps))}


@dataclass(frozen=True)
class KeptTable:
    """Rows of the measure as one table: what is kept of each factor under each corruption."""

    rows: tuple[str, ...]
    """Corruption and severity, in words."""
    factors: tuple[str, ...]
    kept: np.ndarray
    """``[rows, factors]``; nan of a factor that clean images do not tell either."""
    clean: np.ndarray
    """What clean images tell of each factor."""
    unit: str
    """Of what clean images tell."""

    @property
    def breaks_first(self) -> np.ndarray:
        """Of each row the factor that breaks alone: less than half is kept, and a tenth less than of any other."""
        known = np.where(np.isnan(self.kept), np.inf, self.kept)  # [rows, factors]
        second = np.partition(known, 1, axis=1)[:, 1:2] if known.shape[1] > 1 else np.inf
        return np.asarray((known < 0.5) & (known <= second - 0.1))

    def verdict(self) -> str:
        """Under what least of each factor is kept, a line per factor."""
        sentences = []
        for k, factor in enumerate(self.factors):
            column = self.kept[:, k]
            if np.isnan(column).all():
                sentences.append(f"{factor}: not told from clean images either")
            elif np.nanmin(column) >= 0.5:
                sentences.append(f"{factor}: more than half is kept under all of them")
            else:
                worst = int(np.nanargmin(column))
                sentences.append(f"{factor}: least under {self.rows[worst]} ({column[worst]:.2f} of clean)")
        return "\n".join(sentences)


def kept_table(rows: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> KeptTable | None:
    """The table of the measure's rows, but for the clean one; ``None`` where there is no other."""
    found = [(condition, scores["kept"]) for condition, scores in rows if condition.get("corruption") != "none"]
    if not found:
        return None
    first = found[0][1]
    names = tuple(" ".join(str(value) for value in condition.values()) for condition, _ in found)
    kept = np.array([np.asarray(score.parts["per_factor"], dtype=float) for _, score in found])
    clean = np.asarray(first.parts["clean"], dtype=float)
    return KeptTable(names, tuple(first.settings["factors"]), kept, clean, str(first.settings["told_in"]))

"""Scores of a model's codes against the factors of the data, as a measure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from unbraid.errors import UsageError, unknown_name
from unbraid.evaluation.base import Measure, Row, Scores, register, say
from unbraid.evaluation.models import representations_of
from unbraid.metrics import METRICS, PRESETS, PresetName, Score, allowed_metrics, evaluate, preset_named, scored_by

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.training import Run

__all__ = ["Disentanglement"]

CLOCKS = ("seconds", "encoding_seconds")
"""Settings of a score that differ from one computation to the next; left out, so that equal runs give equal bytes."""


@register("disentanglement")
@dataclass(frozen=True)
class Disentanglement(Measure):
    """Scores of the codes that the data allow; without factors those of the codes alone.

    The defaults are those of Locatello et al. (2019).
    """

    title = "Disentanglement"
    needs = "a model that encodes"
    metrics: tuple[str, ...] = ("all",)
    """Scores by name, or all: the usual ones. Others are named beside: all and med."""
    representations: tuple[str, ...] = ("mean", "sampled")
    """Which codes are scored: the mean, one drawn from the posterior (of models that have one)."""
    preset: PresetName = field(default="study", compare=False)
    """How much is drawn: fast for a quick look, study as Locatello et al. (2019), full with more to count."""
    train: int | None = None
    """Points that estimators are fitted on (study: 10,000)."""
    test: int | None = None
    """Points that they are judged on (study: 5,000)."""
    points: int | None = None
    """Training groups of the interventional scores and half as many again to test (otherwise train and test)."""
    batch: int | None = field(default=None, metadata={"usual": 64})
    """Images of such a group (study: 64)."""
    counted: int | None = field(default=None, metadata={"usual": None})
    """Points for the scores that count, where it is not train (full: 100,000)."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """More arguments of single scores: ``{"mig": {"bins": 40}}``."""

    def __post_init__(self) -> None:
        known = [name for name, metric in METRICS.items() if metric.needs != "models"]
        chosen = {METRICS[name].name for name in self.metrics if name != "all"}
        if "all" in self.metrics:
            chosen |= {name for name in known if METRICS[name].usual}
        for name in sorted(chosen - set(known)):
            raise UsageError(f"{name} compares several models; ask for the measure {name!r}")
        for kind in self.representations:
            if kind not in ("mean", "sampled"):
                raise unknown_name("representation", kind, ("mean", "sampled"))
        for name in self.options:
            if name not in chosen:
                raise UsageError(f"options.{name} is for a metric that is not among the chosen ones")
        self._fill(chosen)
        for name in ("train", "test", "batch"):
            if getattr(self, name) < 2:
                raise UsageError(f"{name} must be at least 2, got {getattr(self, name)}")
        # Written out and in one order: what "all" means is part of what was asked.
        object.__setattr__(self, "metrics", tuple(name for name in known if name in chosen))

    def _fill(self, chosen: set[str]) -> None:
        """Numbers that were not given are the preset's; a preset is its numbers, by which it is known again."""
        usual = preset_named(self.preset)
        for name in ("train", "test", "batch", "counted"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, getattr(usual, name))
        points = self.points if self.points is not None or usual.points is None else usual.points[0]
        alike = points is not None and points == self.train and self.test == _half(points)
        object.__setattr__(self, "points", None if alike else points)
        own = {name: options for name, options in usual.options.items() if name in chosen}
        options = {name: {**own.get(name, {}), **self.options.get(name, {})} for name in {**own, **self.options}}
        object.__setattr__(self, "options", options)

    def _preset(self) -> str | None:
        """The preset whose numbers these are, if it is not the usual one: a condition of what is measured."""
        for name, other in PRESETS.items():
            points = None if other.points is None else other.points[0]
            numbers = (other.train, other.test, other.batch, other.counted, points)
            options = {key: own for key, own in other.options.items() if key in self.metrics}
            same = (self.train, self.test, self.batch, self.counted, self.points) == numbers
            if same and all(_plainly(self.options.get(key)) == _plainly(own) for key, own in options.items()):
                return None if name == "study" else name
        return None

    def made_of(self) -> Mapping[str, Any]:
        return {**super().made_of(), **{name: METRICS[name].function for name in self.metrics}}

    def version_on(self, data: ImageDataset) -> int:
        # Of classes and measured factors earlier answers knew little.
        return 2 if scored_by(data) == "class" or data.factor_sizes is None else self.version

    def applies(self, run: Run, data: ImageDataset) -> bool:
        return bool(representations_of(run))

    def rows(self, run: Run, data: ImageDataset, seed: int) -> Iterator[Row]:
        for kind in self.representations:
            if kind in representations_of(run):
                condition = {"representation": kind}
                if (preset := self._preset()) is not None:
                    condition["preset"] = preset
                yield condition, partial(self._scores, run, data, kind, seed)

    def _scores(self, run: Run, data: ImageDataset, kind: str, seed: int) -> Scores:
        representation = cast(Literal["mean", "sampled"], kind)
        names = allowed_metrics(self.metrics, data, representation)
        if not names:
            return {}
        found = evaluate(
            run,
            data,
            metrics=names,
            representation=representation,
            train=self.train,
            test=self.test,
            batch=self.batch,
            points=None if self.points is None else (self.points, _half(self.points)),
            counted=self.counted,
            options={name: own for name, own in self.options.items() if name in names},
            seed=seed,
            progress=say,
        )
        refused = {
            name: Score(name, math.nan, settings={"not_possible": why}) for name, why in found.not_possible.items()
        }
        return {**{name: score.without_settings(*CLOCKS) for name, score in found.items()}, **refused}


def _half(points: int) -> int:
    """Groups to judge on for so many to learn from."""
    return max(points // 2, 2)


def _plainly(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Lists and tuples are the same in a file."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in (options or {}).items()}

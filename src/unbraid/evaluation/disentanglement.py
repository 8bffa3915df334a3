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
from unbraid.metrics import METRICS, Score, allowed_metrics, evaluate, scored_by

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
    """Scores by name, or all."""
    representations: tuple[str, ...] = ("mean", "sampled")
    """Which codes are scored: the mean, one drawn from the posterior (of models that have one)."""
    train: int = 10_000
    """Points that estimators are fitted on."""
    test: int = 5_000
    """Points that they are judged on."""
    points: int | None = None
    """Training groups of the two interventional scores and half as many again to test (otherwise train and test)."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """More arguments of single scores: ``{"mig": {"bins": 40}}``."""

    def __post_init__(self) -> None:
        known = [name for name, metric in METRICS.items() if metric.needs != "models"]
        chosen = set(known) if "all" in self.metrics else {METRICS[name].name for name in self.metrics}
        for name in sorted(chosen - set(known)):
            raise UsageError(f"{name} compares several models; ask for the measure {name!r}")
        for kind in self.representations:
            if kind not in ("mean", "sampled"):
                raise unknown_name("representation", kind, ("mean", "sampled"))
        for name in self.options:
            if name not in chosen:
                raise UsageError(f"options.{name} is for a metric that is not among the chosen ones")
        for name in ("train", "test"):
            if getattr(self, name) < 2:
                raise UsageError(f"{name} must be at least 2, got {getattr(self, name)}")
        # Written out and in one order: what "all" means is part of what was asked.
        object.__setattr__(self, "metrics", tuple(name for name in known if name in chosen))

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
                yield {"representation": kind}, partial(self._scores, run, data, kind, seed)

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
            points=None if self.points is None else (self.points, max(self.points // 2, 2)),
            options={name: own for name, own in self.options.items() if name in names},
            seed=seed,
            progress=say,
        )
        refused = {
            name: Score(name, math.nan, settings={"not_possible": why}) for name, why in found.not_possible.items()
        }
        return {**{name: score.without_settings(*CLOCKS) for name, score in found.items()}, **refused}

"""Does a model know when it is wrong? And how little supervision does it need?"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unbraid.corruptions import VERSION
from unbraid.errors import UsageError
from unbraid.evaluation import Scores, draw_images
from unbraid.transfer.all_scenarios.corrupted import spoiled
from unbraid.transfer.domains import Domain
from unbraid.transfer.scenario import READOUT, STEP, VALUE, Asked, Scenario, register
from unbraid.transfer.subjects import Subject, subject_of

if TYPE_CHECKING:
    from unbraid.objectives import Objective
    from unbraid.training import Run

__all__ = ["Confidence", "FewLabels", "hurried", "risk_coverage"]

WARMUP = re.compile(r"\bwarmup=(\d+)")


@register("confidence")
@dataclass(frozen=True)
class Confidence(Scenario):
    """Under corruptions: 1 - area under the curve of risk over coverage; and 1 - mean confidence when wrong."""

    unit = "share"
    version: ClassVar[int] = VERSION - 1  # asked anew where the corruptions are; it was 1 when they were 2
    cost = 0.001

    images: int = 200
    """At most so many images, each under all corruptions."""
    categories: tuple[str, ...] = ("noise", "blur", "weather")
    """Categories of corruptions."""

    def numbers(self, asked: Asked) -> Scores:
        sure, right = [], []
        for category in self.categories:
            for _, _, images, labels in spoiled(asked, category, self.images):
                guesses, sureness = asked.subject.guesses(images)
                sure.append(sureness)
                right.append(guesses == labels)
        confidence, correct = np.concatenate(sure), np.concatenate(right)
        wrong = confidence[~correct]
        doubt = float(1 - wrong.mean()) if len(wrong) else 1.0
        return {
            VALUE: 1 - risk_coverage(confidence, correct),
            "doubt_when_wrong": doubt,
            "accuracy": float(correct.mean()),
        }


def risk_coverage(confidence: np.ndarray, right: np.ndarray) -> float:
    """Area under the curve of risk over coverage (Geifman & El-Yaniv, 2017): mean error of the k surest, over all k.

    Images of equal confidence count as in a random order, so that a constant confidence gives the plain error rate.

    >>> risk_coverage(np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, True, False, False]))  # (0 + 0 + 1/3 + 1/2) / 4
    0.20833333333333331
    """
    sure, wrong = np.asarray(confidence, dtype=np.float64), 1.0 - np.asarray(right, dtype=np.float64)
    if sure.shape != wrong.shape or sure.ndim != 1 or not len(sure) or not np.isfinite(sure).all():
        raise UsageError(f"confidence and right must be one number per image, got {sure.shape} and {wrong.shape}")
    order = np.argsort(-sure, kind="stable")
    levels, groups = np.unique(-sure[order], return_inverse=True)
    mean = np.bincount(groups, wrong[order]) / np.bincount(groups, minlength=len(levels))
    return float((np.cumsum(mean[groups]) / np.arange(1, len(sure) + 1)).mean())


@register("few-labels")
@dataclass(frozen=True)
class FewLabels(Scenario):
    """Little supervision: accuracy with 100 labels over accuracy with all, or over chance if that is more.

    A model without a read-out is trained again, from where it began, its schedule shortened to the fewer steps.
    """

    title = "Few labels"
    unit = "share"
    version: ClassVar[int] = 2
    wants = ("scores", "training")
    cost = 0.0002

    labels: int = 100
    """Labelled images."""
    steps: int = 500
    """Steps of training on them, of a model without a read-out."""
    images: int = 2_000
    """At most so many test images, drawn by the seed."""

    def __post_init__(self) -> None:
        if min(self.labels, self.steps, self.images) < 1:
            raise UsageError(
                f"labels, steps and images must be at least 1, got {self.labels}, {self.steps}, {self.images}"
            )

    def seconds(self, asking: float = 1.0, training: float = 1.0) -> float:
        few = READOUT if self.reading else self.steps * STEP * training
        return few + super().seconds(asking, training)

    def missing(self, subject: Subject, domain: Domain) -> str:
        if subject.source is not None and subject.source.objective.name in ("abs", "ice", "firevnet"):
            return "a classifier or a representation with a read-out"
        return super().missing(subject, domain)

    def numbers(self, asked: Asked) -> Scores:
        _, images, labels = asked.images(self.images)
        few = self._few(asked.subject)
        scores = [one.scores(images) for one in (asked.subject, few)]
        every, some = (float((one.argmax(1) == labels).mean()) for one in scores)
        chance = 1 / scores[0].shape[1]
        return {VALUE: some / max(every, chance), "accuracy_few": some, "accuracy_all": every}

    def _few(self, subject: Subject) -> Subject:
        """The same model with few labels: another read-out of the same codes, or trained from the beginning."""
        run = subject.source
        assert run is not None
        if not run.can("predict"):
            from unbraid.transfer.readings import read_off

            return read_off(run, self.reading or "readout", subject.factor, self.labels)
        from unbraid.training import train

        data = run.data()
        again = train(
            hurried(run.objective, self.steps / max(1, int(run.info["step"]))),
            data.part(draw_images(data, self.labels, 0)),
            out=run.path / f"with-{self.labels}-labels-{self.steps}",
            steps=self.steps,
            seed=int(run.info["seed"]),
            batch_size=min(64, self.labels),
            progress="none",
            **_beginning(run),
        )
        return subject_of(again, data)


def _beginning(run: Run) -> dict[str, Any]:
    """What a run took over from one on other data. One on the same data has seen the labels that are to be few."""
    from unbraid.training import open_run

    began = run.info.get("start")
    if not began or not began["parts"]:
        return {}
    before = open_run(began["path"])
    if _origin(before) == _origin(run):
        return {}
    return {"start": before.path, "parts": tuple(began["parts"])}


def _origin(run: Run) -> str:
    about = run.info["data"]
    return str((about["recipe"] or about)["name"])


def hurried(objective: Objective, share: float) -> Objective:
    """An objective whose schedule, the falls of its rate and the warmup of adversaries, takes this share of the steps.

    >>> from unbraid import objectives
    >>> slow = objectives.make("classifier", {"drop_at": (900,), "augment": ["adversarial:warmup=600,share=1"]})
    >>> quick = hurried(slow, 1 / 6)
    >>> quick.drop_at, quick.augment
    ((150,), ('adversarial:warmup=100,share=1',))
    """
    from unbraid.objectives import PredictorObjective

    if share >= 1 or not isinstance(objective, PredictorObjective):
        return objective
    drops = tuple(round(share * step) for step in objective.drop_at)
    sooner = (WARMUP.sub(lambda found: f"warmup={round(share * int(found[1]))}", text) for text in objective.augment)
    return replace(objective, drop_at=drops, augment=tuple(sooner))

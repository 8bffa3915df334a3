"""What scenarios ask: a trained run, something built on one, or any function from images to scores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.data import Dataset
from unbraid.errors import UsageError
from unbraid.evaluation import Function, as_run, true_classes
from unbraid.robustness import Scorer, confidences
from unbraid.transfer.domains import Domain, domain_of

if TYPE_CHECKING:
    from unbraid.training import Run

__all__ = ["Subject", "check_subject", "subject_of"]

BATCH = 256
TRIED = 64
"""Images that a function is tried on before any work."""


class Subject:
    """A model with scores of classes, and with factors, gradients or an inverse where it has them."""

    def __init__(
        self,
        asked: Any,
        *,
        name: str = "",
        factor: str = "",
        factors: Callable[[np.ndarray], np.ndarray] | None = None,
        threshold: float | None = None,
        source: Run | None = None,
        rejects: bool = False,
    ) -> None:
        self.asked, self.factor, self._factors, self.threshold = asked, factor, factors, threshold
        self._scorer = Scorer(asked, name, factor)
        self.name = self._scorer.name
        self.source = source
        """The trained run that it is or is built on; a function has none."""
        self.rejects = rejects
        """Whether the last of its scores is that of no class at all: what it rejects is wrong, whatever the class."""

    def scores(self, images: np.ndarray) -> np.ndarray:
        """Scores ``[n, classes]`` of uint8 images."""
        parts = [self._scorer(images[start : start + BATCH]) for start in range(0, len(images), BATCH)]
        return np.concatenate(parts)

    def probabilities(self, images: np.ndarray) -> np.ndarray:
        """The same, adding up to 1 for each image."""
        return confidences(self.scores(images))

    def guesses(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The class of each image, one beyond the last where it is rejected, and how sure the model is of a class."""
        chances = self.probabilities(images)
        return chances.argmax(axis=1), chances[:, : self.classes(chances)].max(axis=1)

    def classes(self, scores: np.ndarray) -> int:
        """How many classes its scores are of."""
        return scores.shape[1] - self.rejects

    @property
    def has_factors(self) -> bool:
        return self._factors is not None

    def factors(self, images: np.ndarray) -> np.ndarray:
        """Scaled factors ``[n, K]`` of uint8 images."""
        if self._factors is None:
            raise UsageError(f"{self.name} does not tell factors")
        return self._factors(images)

    @property
    def has_gradient(self) -> bool:
        """Whether attacks can follow gradients: runs and torch modules, not functions on arrays."""
        return self.asked is self.source or hasattr(self.asked, "parameters")

    @property
    def draws(self) -> bool:
        """Whether it classifies by drawing, so that attacks can follow its drawings."""
        return self.source is not None and self.source.objective.name == "abs"

    @property
    def inverts(self) -> bool:
        return self.asked is self.source and self.source is not None and self.source.can("invert")

    def labels(self, data: Dataset, index: np.ndarray) -> np.ndarray:
        """The true classes that it should name."""
        return true_classes(as_run(self.asked), data, index, self.factor)


def subject_of(model: Any, data: Dataset, reading: str = "", *, threshold: float | None = None) -> Subject:
    """A run (or its folder), a torch module or a function as something to ask on these data.

    ``reading`` says what is built on a run: ``readout``, ``verified`` or ``exact``; by default it is asked as it is, or
    through a read-out if it does not predict.
    """
    if isinstance(model, Subject):
        return model
    factor = domain_of(data).factor
    if isinstance(model, str | Path):
        from unbraid.training import open_run

        model = open_run(model)
    run = as_run(model)
    if isinstance(run, Function):
        if reading:
            raise UsageError(f"reading {reading!r} is built on a trained run, got a function")
        return Subject(model, factor=factor, threshold=threshold)
    if reading or not run.can("predict"):
        from unbraid.transfer.readings import read_off

        return read_off(run, reading or "readout", factor)
    named = any(task.factor == factor for task in run.tasks() if task.predicts == "classes")
    regresses = getattr(run.objective, "predicts", "") == "factors"
    return Subject(
        run,
        factor=factor if named else "",
        factors=run.predict if regresses else None,
        source=run,
        threshold=_threshold(run) if threshold is None else threshold,
    )


def check_subject(subject: Subject, data: Dataset, domain: Domain) -> None:
    """Try a model on a few images, and refuse before any work what cannot be meant."""
    index = np.linspace(0, len(data) - 1, min(TRIED, len(data))).astype(np.int64)
    images = data.images(index, np.random.default_rng(0))
    scores = subject.scores(images)
    classes = len(data.classes) if not domain.factor else _size(data, domain.factor)
    if (told := subject.classes(scores)) != classes:
        raise UsageError(
            f"{subject.name} gives scores of {told} classes, and {data.name} has {classes}: it "
            "was made for other classes"
        )
    if (scores >= 0).all() and (scores <= 1).all() and (np.abs(scores.sum(axis=1) - 1) > 1e-3).any():
        least, most = scores.sum(axis=1).min(), scores.sum(axis=1).max()
        raise UsageError(
            f"{subject.name} gives numbers between 0 and 1 that add up to {least:.3g} to {most:.3g} per image: neither "
            "probabilities nor logits. Give logits, or divide each row by its sum"
        )


def _size(data: Dataset, factor: str) -> int:
    sizes = dict(zip(data.factor_names, data.factor_sizes or (), strict=False))
    return int(sizes[factor])


def _threshold(run: Any) -> float | None:
    """At which a run's network turns pixels black or white."""
    from unbraid.options import Named

    net = Named.read(str(getattr(run.objective, "net", "") or "none"))
    return float(net.options.get("threshold", 0.5)) if net.name == "binarised" else None

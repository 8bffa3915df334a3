"""Images as in training, other combinations of factors, and identities that training never showed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unbraid.errors import UsageError
from unbraid.evaluation import Predictions, Scores, accuracy
from unbraid.generalization import r2
from unbraid.metrics import Score
from unbraid.transfer.domains import Domain
from unbraid.transfer.scenario import VALUE, Asked, Scenario, register
from unbraid.transfer.subjects import Subject

__all__ = ["Composition", "Extrapolation", "Held", "Identity", "Iid", "Interpolation"]


@dataclass(frozen=True)
class Held(Scenario):
    """Accuracy on held-out images, and the mean R2 of ordered factors."""

    images: int = 2_000
    """At most so many images, drawn by the seed."""

    def __post_init__(self) -> None:
        if self.images < 1:
            raise UsageError(f"images must be at least 1, got {self.images}")

    def numbers(self, asked: Asked) -> Scores:
        index, images, labels = asked.images(self.images)
        found = accuracy(Predictions(index, asked.subject.scores(images), labels), asked.seed)
        scores: dict[str, Score | float] = {"accuracy": found}
        grid = asked.data.grid
        if asked.subject.has_factors and grid is not None:
            told = r2(asked.subject.factors(images), asked.data.factors(index), grid)
            ordered = [kind != "categorical" for kind in grid.kinds]
            mean = float(told.r2[ordered].mean()) if any(ordered) else float("nan")
            scores["r2"] = Score("r2", mean, 1.0, {"per_factor": told.r2}, {"factors": list(grid.names)})
        return {VALUE: float(found), **scores}


@register("iid")
@dataclass(frozen=True)
class Iid(Held):
    """Nothing is left: held-out images of the training domain (the reference)."""

    title = "i.i.d."


@dataclass(frozen=True)
class Split(Held):
    """R2 of ordered factors on the test side of a split that the model was trained on; accuracy is a detail."""

    unit = "R²"
    wants = ("scores", "factors")

    def numbers(self, asked: Asked) -> Scores:
        found = dict(super().numbers(asked))
        return {**found, VALUE: float(found["r2"])}


@register("composition")
@dataclass(frozen=True)
class Composition(Split):
    """Combinations of factor values that training never showed together: R2 of ordered factors."""

    training = "composition"


@register("interpolation")
@dataclass(frozen=True)
class Interpolation(Split):
    """Factor values between those of training: R2 of ordered factors."""

    training = "interpolation"


@register("extrapolation")
@dataclass(frozen=True)
class Extrapolation(Split):
    """Factor values beyond those of training: R2 of ordered factors."""

    training = "extrapolation"


@register("identity")
@dataclass(frozen=True)
class Identity(Held):
    """Handwritings or persons that training never showed: accuracy."""

    def on(self, domain: Domain) -> str:
        return domain.fresh

    def missing(self, subject: Subject, domain: Domain) -> str:
        return super().missing(subject, domain) or ("" if domain.fresh else "a domain with spare identities")

    def numbers(self, asked: Asked) -> Scores:
        index, images, labels = asked.images(self.images)
        found = accuracy(Predictions(index, asked.subject.scores(images), labels), asked.seed)
        return {VALUE: float(found), "accuracy": found, "images": float(len(np.unique(index)))}

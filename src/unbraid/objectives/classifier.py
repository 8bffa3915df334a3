"""Supervised classification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.errors import UsageError, unknown_name
from unbraid.objectives.base import Inputs, Terms, register
from unbraid.objectives.predictor import PredictorObjective

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unbraid.nets import Predictor
    from unbraid.problem import Problem

__all__ = ["Classifier"]


@register("classifier")
@dataclass(frozen=True)
class Classifier(PredictorObjective):
    """Network trained to name the class of an image, by cross-entropy."""

    title = "Classifier"
    formula = "E[−log p(y|x)], y the class of image x"
    predicts = "classes"

    factor: str = ""
    """Factor whose values are the classes, for data with factors; by default the data set's own classes."""

    def outputs(self, problem: Problem) -> int:
        """How many classes there are."""
        if self.factor:
            column = factor_column(self.factor, problem)
            if problem.factor_sizes is None:
                raise UsageError(
                    f"factor {self.factor!r} was measured and has no classes; objective 'regressor' predicts its value"
                )
            return problem.factor_sizes[column]
        if not problem.classes:
            known = ", ".join(problem.factor_names)
            way = f"--factor NAME makes one of its factors the class: {known}" if known else "see `unbraid data list`"
            raise UsageError(f"objective {self.name!r} needs data with classes, which these have not; {way}")
        return problem.classes

    def targets(self, problem: Problem, inputs: Inputs) -> Tensor:
        """The class of each image, ``[n]``."""
        if self.factor:
            if inputs.factors is None:
                raise UsageError(
                    f"objective {self.name!r} with factor {self.factor!r} needs a stream with the factors of images"
                )
            return inputs.factors[:, factor_column(self.factor, problem)].long()
        found = inputs.labels
        if found is None or found.ndim != 1:
            raise UsageError(f"objective {self.name!r} needs a stream with the class of every image")
        return found.long()

    def loss(self, model: Predictor, inputs: Inputs, step: int, noise: torch.Generator) -> Terms:
        from torch.nn.functional import cross_entropy

        labels = self.targets(model.problem, inputs)
        scores = self.predict(model, inputs.images)
        right = (scores.argmax(1) == labels).float().mean()
        return Terms({"cross_entropy": cross_entropy(scores, labels)}, {"accuracy": right})

    def describe(self, model: Predictor, images: Tensor, noise: torch.Generator) -> dict[str, Tensor]:
        """Probability of the likeliest class, and entropy of all of them in nats."""
        log_p = self.predict(model, images).log_softmax(1)
        return {"confidence": log_p.amax(1).exp(), "entropy": -(log_p.exp() * log_p).sum(1)}


def factor_column(factor: str, problem: Problem) -> int:
    """Where a factor stands among those of the data."""
    if factor not in problem.factor_names:
        if not problem.factor_names:
            raise UsageError(f"factor {factor!r} is asked for, but these data have no known factors")
        raise unknown_name("factor", factor, problem.factor_names)
    return problem.factor_names.index(factor)

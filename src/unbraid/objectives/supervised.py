"""Factors and classes from one network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.objectives.base import Inputs, Terms, register
from unbraid.objectives.checks import check_not_negative
from unbraid.objectives.classifier import cross_entropies
from unbraid.objectives.regressor import Regressor
from unbraid.objectives.tasks import Task, class_tasks

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unbraid.nets import Predictor
    from unbraid.problem import Problem

__all__ = ["Supervised"]


@register("supervised")
@dataclass(frozen=True)
class Supervised(Regressor):
    """Network trained to tell all factors of an image, by squared error, and to name its class, by cross-entropy.

    All layers but the last linear one are shared. Predictions are those of the factors; the classes are further tasks.
    """

    title = "Regressor and classifier"
    formula = "E[Σⱼ (fⱼ(x) − tⱼ)² − {weight} log p(y|x)], y the class of image x"

    factor: str = ""
    """Factor whose values are the classes; several joined by +, or categorical for all without an order. By default
    the data set's own classes."""
    weight: float = 1.0
    """Weight of the cross-entropy beside the squared error."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "weight")

    def outputs(self, problem: Problem) -> int:
        """One number per factor and per class."""
        return sum(task.size for task in self.tasks(problem))

    def tasks(self, problem: Problem) -> tuple[Task, ...]:
        """All factors, then the classes."""
        return Task("factors", "factors", super().outputs(problem)), *class_tasks(self.factor, problem, self.name)

    def loss(self, model: Predictor, inputs: Inputs, step: int, noise: torch.Generator) -> Terms:
        answers = self.answers(model, inputs.images)
        regression = self.regression(answers["factors"], model.problem, inputs)
        _, *classes = self.tasks(model.problem)
        entropy, right = cross_entropies(classes, answers, model.problem, inputs, self.name)
        return Terms(
            {**regression.terms, "cross_entropy": self.weight * entropy}, {**regression.watched, "accuracy": right}
        )

    def describe(self, model: Predictor, images: Tensor, noise: torch.Generator) -> dict[str, Tensor]:
        """How far outside of [0, 1] the factors lie, summed, and the probability of the likeliest class."""
        factors, scores, *_ = self.answers(model, images).values()
        outside = (factors - factors.clamp(0, 1)).abs().sum(1)
        return {"outside": outside, "confidence": scores.softmax(1).amax(1)}

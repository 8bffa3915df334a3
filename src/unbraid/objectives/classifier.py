"""Supervised classification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.objectives.base import Inputs, Terms, register
from unbraid.objectives.predictor import PredictorObjective
from unbraid.objectives.tasks import Task, class_tasks, true_classes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import torch
    from torch import Tensor

    from unbraid.nets import Predictor
    from unbraid.problem import Problem

__all__ = ["Classifier", "cross_entropies"]


@register("classifier")
@dataclass(frozen=True)
class Classifier(PredictorObjective):
    """Network trained to name the class of an image, by cross-entropy; with several factors, one head for each.

    The heads are the last linear layer's outputs side by side; all layers before are shared.
    """

    title = "Classifier"
    formula = "E[−log p(y|x)], y the class of image x"
    predicts = "classes"

    factor: str = ""
    """Factor whose values are the classes; several joined by +, or categorical for all without an order. By default
    the data set's own classes."""

    def tasks(self, problem: Problem) -> tuple[Task, ...]:
        """One set of classes for each factor, or the data set's own."""
        return class_tasks(self.factor, problem, self.name)

    def loss(self, model: Predictor, inputs: Inputs, step: int, noise: torch.Generator) -> Terms:
        entropy, right = cross_entropies(
            self.tasks(model.problem), self.answers(model, inputs.images), model.problem, inputs, self.name
        )
        return Terms({"cross_entropy": entropy}, {"accuracy": right})

    def describe(self, model: Predictor, images: Tensor, noise: torch.Generator) -> dict[str, Tensor]:
        """Probability of the likeliest class, and entropy of all of them in nats; of the first factor, if several."""
        log_p = self.predict(model, images).log_softmax(1)
        return {"confidence": log_p.amax(1).exp(), "entropy": -(log_p.exp() * log_p).sum(1)}


def cross_entropies(
    tasks: Sequence[Task], answers: Mapping[str, Tensor], problem: Problem, inputs: Inputs, asker: str
) -> tuple[Tensor, Tensor]:
    """The cross-entropies of all sets of classes, added, and the share of right answers, averaged."""
    import torch
    from torch.nn.functional import cross_entropy

    losses, right = [], []
    for task in tasks:
        scores, classes = answers[task.name], true_classes(task, problem, inputs, asker)
        losses.append(cross_entropy(scores, classes))
        right.append((scores.argmax(1) == classes).float().mean())
    return torch.stack(losses).sum(), torch.stack(right).mean()

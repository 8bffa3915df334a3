"""What an attack is after: small objects that look at what a model says, and know nothing of images."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from unbraid.errors import UsageError

__all__ = ["ClassGoal", "Goal", "Misclassified", "Named", "Surer"]


class Goal(ABC):
    """A condition on outputs ``[n, k]`` of a model, one per image."""

    @abstractmethod
    def margin(self, outputs: Tensor) -> Tensor:
        """By how much the goal is reached, in units of the outputs: below 0 where it is not, ``[n]``."""

    def met(self, outputs: Tensor) -> Tensor:
        """Whether it is reached: bool ``[n]``."""
        return self.margin(outputs) >= 0

    def loss(self, outputs: Tensor) -> Tensor:
        """What attacks along gradients climb, ``[n]``."""
        return self.margin(outputs)

    def check(self, outputs: Tensor, name: str) -> None:
        """Raise an error if these outputs of ``name`` cannot be judged."""
        return

    @abstractmethod
    def __getitem__(self, rows: Tensor | slice) -> Goal:
        """The goal for some of the images."""


@dataclass(frozen=True)
class ClassGoal(Goal):
    """Goals of attacks on classifiers: outputs are scores, and the highest names the class."""

    classes: Tensor
    """The true ones, or those to be named: ``[n]``."""

    def check(self, outputs: Tensor, name: str) -> None:
        most = int(self.classes.max()) if len(self.classes) else 0
        if most >= outputs.shape[1]:
            raise UsageError(
                f"{name} gives scores of {outputs.shape[1]} classes, and there is a class {most}: "
                "it was made for other classes"
            )

    def __getitem__(self, rows: Tensor | slice) -> ClassGoal:
        return type(self)(self.classes[rows])

    def _own(self, scores: Tensor) -> Tensor:
        return scores.gather(1, self.classes[:, None])[:, 0]

    def _others(self, scores: Tensor) -> Tensor:
        """The highest score of the other classes."""
        return scores.scatter(1, self.classes[:, None], -torch.inf).amax(1)


class Misclassified(ClassGoal):
    """Another class than the true one has the highest score."""

    def met(self, outputs: Tensor) -> Tensor:
        return outputs.argmax(1) != self.classes

    def margin(self, outputs: Tensor) -> Tensor:
        return self._others(outputs) - self._own(outputs)

    def loss(self, outputs: Tensor) -> Tensor:
        return F.cross_entropy(outputs, self.classes, reduction="none")


class Named(ClassGoal):
    """A class that was chosen has the highest score."""

    def met(self, outputs: Tensor) -> Tensor:
        return outputs.argmax(1) == self.classes

    def margin(self, outputs: Tensor) -> Tensor:
        return self._own(outputs) - self._others(outputs)

    def loss(self, outputs: Tensor) -> Tensor:
        return -F.cross_entropy(outputs, self.classes, reduction="none")


@dataclass(frozen=True)
class Surer(Goal):
    """A goal that is to be reached by a margin, in units of the outputs."""

    goal: Goal
    by: Tensor
    """``[n]``."""

    def margin(self, outputs: Tensor) -> Tensor:
        return self.goal.margin(outputs) - self.by

    def loss(self, outputs: Tensor) -> Tensor:
        return self.goal.loss(outputs)

    def __getitem__(self, rows: Tensor | slice) -> Surer:
        return Surer(self.goal[rows], self.by[rows])

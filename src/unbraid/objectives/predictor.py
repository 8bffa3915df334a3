"""The part that classifiers and regressors share: one network, one optimiser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from unbraid.errors import UsageError, unknown_name
from unbraid.objectives.base import Objective
from unbraid.objectives.checks import check_not_negative, check_positive
from unbraid.objectives.tasks import Task

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unbraid.nets import Predictor
    from unbraid.problem import Problem

__all__ = ["PredictorObjective"]


@dataclass(frozen=True)
class PredictorObjective(Objective):
    """A network from images to numbers, trained by Adam as the supervised models of Schott et al. (2022), or by SGD."""

    representations = ()
    sees_labels = True

    net: str = "cnn"
    """Network by name: cnn, mlp (also for vectors), or an own registered predictor; options as in cnn:width=16."""
    learning_rate: float = 5e-4
    """Step size of the optimiser."""
    weight_decay: float = 0.0
    """Decoupled weight decay, as AdamW has it; 0 is plain Adam. With sgd, the weight of half the squared weights."""
    optimizer: Literal["adam", "sgd"] = "adam"
    """Who takes the steps: Adam, or stochastic gradient descent with momentum, as published for noise training."""
    momentum: float = 0.9
    """Momentum of sgd; Adam has its own."""
    drop_at: tuple[int, ...] = ()
    """Steps from which on the learning rate is divided by drop_by, each time again, as in 4000 or 4000 6000."""
    drop_by: float = 10.0
    """What the learning rate is divided by at each of these steps."""

    def __post_init__(self) -> None:
        check_positive(self, "learning_rate", "drop_by")
        check_not_negative(self, "weight_decay")
        if self.optimizer not in ("adam", "sgd"):
            raise unknown_name("optimizer", self.optimizer, ("adam", "sgd"))
        if not 0 <= self.momentum < 1:
            raise UsageError(f"momentum must lie between 0 and 1, got {self.momentum}")
        if any(not isinstance(step, int) or step < 0 for step in self.drop_at):
            raise UsageError(f"drop_at must be steps of training, as in 4000 6000, got {self.drop_at}")

    def outputs(self, problem: Problem) -> int:
        """How many numbers the network gives for an image: those of all tasks, unless a subclass says it itself."""
        if type(self).tasks is PredictorObjective.tasks:
            raise UsageError(
                f"objective {self.name!r} does not say what it predicts: define outputs(problem) or tasks(problem)"
            )
        return sum(task.size for task in self.tasks(problem))

    def tasks(self, problem: Problem) -> tuple[Task, ...]:
        """What the outputs answer, side by side; the first is what :meth:`predict` gives."""
        name = "factors" if self.predicts == "factors" else "class"
        return (Task(name, self.predicts, self.outputs(problem)),)

    def build(self, problem: Problem, generator: torch.Generator) -> Predictor:
        from unbraid import nets

        net = nets.build_predictor(self.net, problem.shape, self.outputs(problem), generator=generator)
        return nets.Predictor(net, problem)

    def optimizers(self, model: Predictor) -> dict[str, torch.optim.Optimizer]:
        from torch.optim import SGD, AdamW

        settings: dict[str, Any] = {"lr": self.learning_rate, "weight_decay": self.weight_decay, "fused": True}
        if self.optimizer == "sgd":
            return {"model": SGD(model.parameters(), momentum=self.momentum, **settings)}
        return {"model": AdamW(model.parameters(), **settings)}

    def prepare(self, model: Predictor, optimizers: dict[str, torch.optim.Optimizer], step: int) -> None:
        """The learning rate falls at the steps of ``drop_at``."""
        if self.drop_at:
            rate = self.learning_rate / self.drop_by ** sum(step >= drop for drop in self.drop_at)
            for group in optimizers["model"].param_groups:
                group["lr"] = rate

    def predict(self, model: Predictor, images: Tensor) -> Tensor:
        return next(iter(self.answers(model, images).values()))

    def answers(self, model: Predictor, images: Tensor) -> dict[str, Tensor]:
        """The outputs ``[n, size]`` for each task, by name."""
        import torch

        tasks = self.tasks(model.problem)
        outputs = model.net(images)
        outputs = outputs.to(torch.promote_types(outputs.dtype, torch.float32))
        parts = outputs.split([task.size for task in tasks], dim=1)
        return {task.name: part for task, part in zip(tasks, parts, strict=True)}

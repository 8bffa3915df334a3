"""The part that classifiers and regressors share: one network, one optimiser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
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
    """A network from images to numbers, trained by Adam as the supervised models of Schott et al. (2022)."""

    representations = ()

    net: str = "cnn"
    """Network by name: cnn, mlp (also for vectors), or an own registered predictor; options as in cnn:width=16."""
    learning_rate: float = 5e-4
    """Step size of Adam."""
    weight_decay: float = 0.0
    """Decoupled weight decay, as AdamW has it; 0 is plain Adam."""

    def __post_init__(self) -> None:
        check_positive(self, "learning_rate")
        check_not_negative(self, "weight_decay")

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
        from torch.optim import AdamW

        return {"model": AdamW(model.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay, fused=True)}

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

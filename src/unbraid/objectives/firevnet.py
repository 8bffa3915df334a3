"""Cross-entropy on the first outputs of a bijection (Jacobsen et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from unbraid.errors import UsageError, unknown_name
from unbraid.objectives.base import Inputs, Objective, Problem, Terms, register
from unbraid.objectives.checks import check_not_negative, check_positive
from unbraid.objectives.classifier import cross_entropies
from unbraid.objectives.tasks import Task, class_tasks, true_classes

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from unbraid.nets.bijections import BijectiveModel

__all__ = ["FiRevNetObjective"]

OPTIMIZERS = ("adamax", "adam", "sgd")


@register("firevnet")
@dataclass(frozen=True)
class FiRevNetObjective(Objective):
    """Fully invertible classifier: cross-entropy on the first outputs of a bijection (Jacobsen et al., 2019).

    The first outputs are the logits, the others everything that the classifier ignores. Codes are all of them, logits
    first; decoding is the exact inverse.
    """

    title = "fiRevNet"
    formula = "E[−log softmax(z_s)_y] + {w_mle} · bits per dimension of z_n, (z_s, z_n) = F(x) one-to-one"
    representations = ("mean",)
    predicts = "classes"
    sees_labels = True

    net: str = "auto"
    """Bijection by name: conv (images), fc (also vectors), auto for what fits; as in conv:blocks=16,width=128."""
    factor: str = ""
    """Factor whose values are the classes. By default the data set's own classes."""
    w_mle: float = 0.0
    """Weight of the nuisance outputs' negative log-likelihood, in bits per dimension of the image."""
    learning_rate: float = 1e-3
    """Step size of the optimiser."""
    optimizer: Literal["adamax", "adam", "sgd"] = "adamax"
    """Who takes the steps: Adamax as published for digits, Adam as for spheres, or SGD with momentum 0.9."""
    weight_decay: float = 0.0
    """Weight of half the squared weights of the bijection; 1e-4 is published."""
    drop_at: tuple[int, ...] = ()
    """Steps from which on the learning rate is divided by drop_by, each time again, as in 4000 or 4000 6000."""
    drop_by: float = 5.0
    """What the learning rate is divided by at each of these steps."""
    low_memory: bool = False
    """Compute activations again from outputs instead of keeping them: the memory of one block, three times the work."""

    logit_norm: bool = False
    """Normalise each logit over the batch, by running averages afterwards, as the published code may."""
    conditional_prior: bool = False
    """Let the density of numbers that are factored out between stages depend on those that are kept."""

    def __post_init__(self) -> None:
        check_positive(self, "learning_rate", "drop_by")
        check_not_negative(self, "weight_decay", "w_mle")
        if self.optimizer not in OPTIMIZERS:
            raise unknown_name("optimizer", self.optimizer, OPTIMIZERS)
        if any(not isinstance(step, int) or step < 0 for step in self.drop_at):
            raise UsageError(f"drop_at must be steps of training, as in 4000 6000, got {self.drop_at}")

    def tasks(self, problem: Problem) -> tuple[Task, ...]:
        """The data set's own classes, or the values of one factor."""
        found = class_tasks(self.factor, problem, self.name)
        if len(found) > 1:
            raise UsageError(
                f"objective {self.name!r} splits its outputs into the logits of one set of classes and the rest; "
                f"factor must be a single one, got {self.factor!r}"
            )
        return found

    def build(self, problem: Problem, generator: torch.Generator) -> BijectiveModel:
        from unbraid.nets.bijections import build_model

        (task,) = self.tasks(problem)
        model = build_model(self.net, problem, task.size, generator)
        if self.conditional_prior:
            model.net.condition()
        if self.logit_norm:
            model.net.normalise_logits()
        model.net.low_memory(self.low_memory)
        return model

    def optimizers(self, model: BijectiveModel) -> dict[str, torch.optim.Optimizer]:
        return {"model": self._optimizer(model)}

    def _optimizer(self, model: BijectiveModel, *others: nn.Module) -> torch.optim.Optimizer:
        """One that moves the bijection, the density of its outputs, and what else there is; only the first decays."""
        from torch.optim import SGD, Adam, Adamax

        groups: list[dict[str, Any]] = [
            {"params": list(model.net.parameters()), "weight_decay": self.weight_decay},
            *({"params": list(part.parameters())} for part in (model.prior, *others)),
        ]
        if self.optimizer == "sgd":
            return SGD(groups, lr=self.learning_rate, momentum=0.9, fused=True)
        if self.optimizer == "adam":
            return Adam(groups, lr=self.learning_rate, fused=True)
        return Adamax(groups, lr=self.learning_rate)

    def prepare(self, model: BijectiveModel, optimizers: dict[str, torch.optim.Optimizer], step: int) -> None:
        """The learning rate falls at the steps of ``drop_at``."""
        if self.drop_at:
            rate = self.learning_rate / self.drop_by ** sum(step >= drop for drop in self.drop_at)
            for group in optimizers["model"].param_groups:
                group["lr"] = rate

    def loss(self, model: BijectiveModel, inputs: Inputs, step: int, noise: torch.Generator) -> Terms:
        z, log_det = model.outputs(inputs.images, noise)
        return self.terms(model, inputs, z, log_det)

    def terms(self, model: BijectiveModel, inputs: Inputs, z: Tensor, log_det: Tensor) -> Terms:
        """Cross-entropy of the logits, and the likelihood of the other outputs if it has a weight."""
        from unbraid.nets.bijections import bits_per_dimension

        tasks = self.tasks(model.problem)
        answers = {tasks[0].name: model.net.split(z)[0].float()}
        entropy, right = cross_entropies(tasks, answers, model.problem, inputs, self.name)
        terms = {"cross_entropy": entropy}
        if self.w_mle:
            density = model.prior.log_prob(z, first=model.net.classes) + log_det
            terms["likelihood"] = self.w_mle * bits_per_dimension(density, model.net.size).mean()
        return Terms(terms, {"accuracy": right, "bits": model.bits(z.detach(), log_det.detach()).mean()})

    def classes(self, model: BijectiveModel, inputs: Inputs) -> Tensor:
        """The true class of each image."""
        (task,) = self.tasks(model.problem)
        return true_classes(task, model.problem, inputs, self.name)

    def encode(self, model: BijectiveModel, images: Tensor, noise: torch.Generator | None = None) -> Tensor:
        """All outputs ``[n, d]``: the logits first, then the nuisance part."""
        if noise is not None:
            raise UsageError(
                f"codes of {self.name} are not random: there is no sampled representation; ask for the mean"
            )
        return model.outputs(images)[0]

    def invert(self, model: BijectiveModel, outputs: Tensor) -> Tensor:
        """The images that have these outputs, by the exact inverse; their values may lie outside of [0, 1]."""
        return model.grid.back(model.net.inverse(outputs))

    def decode(self, model: BijectiveModel, codes: Tensor) -> Tensor:
        return self.invert(model, codes)

    def predict(self, model: BijectiveModel, images: Tensor) -> Tensor:
        return model.net.split(model.outputs(images)[0])[0]

    def answers(self, model: BijectiveModel, images: Tensor) -> dict[str, Tensor]:
        """The logits, by the name of their task."""
        (task,) = self.tasks(model.problem)
        return {task.name: self.predict(model, images)}

    def describe(self, model: BijectiveModel, images: Tensor, noise: torch.Generator) -> dict[str, Tensor]:
        """Probability of the likeliest class, entropy of all of them in nats, and bits per dimension of the image."""
        z, log_det = model.outputs(images)
        log_p = model.net.split(z)[0].log_softmax(1)
        entropy = -(log_p.exp() * log_p).sum(1)
        return {"confidence": log_p.amax(1).exp(), "entropy": entropy, "bits": model.bits(z, log_det)}

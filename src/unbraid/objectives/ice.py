"""Independence cross-entropy: a second network keeps the class out of what the classifier ignores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.objectives.base import Inputs, Problem, Terms, register
from unbraid.objectives.checks import check_count, check_not_negative, check_positive
from unbraid.objectives.firevnet import FiRevNetObjective

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from unbraid.nets.bijections import BijectiveModel

__all__ = ["ICE", "label_entropy", "reverse_gradient"]

PLAYER = "nuisance"


@register("ice")
@dataclass(frozen=True)
class ICE(FiRevNetObjective):
    """Fully invertible classifier that empties its nuisance outputs of the class (iCE: Jacobsen et al., 2019).

    A nuisance classifier learns to read the class off the outputs that are not logits; the bijection is paid for its
    errors, and for the likelihood of these outputs under independent normal numbers.
    """

    title = "iCE"
    formula = (
        "E[−log softmax(z_s)_y] + {w_nuisance} · max over D of E[log D(z_n)_y] + {w_mle} · bits per dimension of z_n"
    )

    w_mle: float = 1.0
    """Weight of the nuisance outputs' negative log-likelihood, in bits per dimension of the image."""
    w_nuisance: float = 0.05
    """Weight of the nuisance classifier's cross-entropy, which the bijection wants large."""
    normalise: bool = False
    """Divide w_nuisance by the number of nuisance outputs, as the paper says; with w_nuisance 1."""
    inner_steps: int = 5
    """Updates of the nuisance classifier before each one of the bijection."""
    cap: bool = False
    """Pay for no more than the entropy of the classes: beyond, the nuisance classifier is only fooled."""
    reversal: bool = False
    """One backward pass for both players, through a layer that turns the gradient round; inner_steps is 1 then."""
    nuisance_width: int = 512
    """Units of each hidden layer of the nuisance classifier."""
    nuisance_depth: int = 2
    """Hidden layers of the nuisance classifier."""
    nuisance_learning_rate: float = 1e-3
    """Step size of the nuisance classifier's Adamax."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "w_nuisance")
        check_positive(self, "nuisance_learning_rate")
        check_count(self, "inner_steps", "nuisance_width", "nuisance_depth")

    def build(self, problem: Problem, generator: torch.Generator) -> BijectiveModel:
        from unbraid.nets import build_predictor

        model = super().build(problem, generator)
        inputs, classes = model.net.size - model.net.classes, model.net.classes
        name = f"mlp:width={self.nuisance_width},depth={self.nuisance_depth}"
        model.add_module(PLAYER, build_predictor(name, (inputs,), classes, generator=generator))
        return model

    def nuisance(self, model: BijectiveModel) -> nn.Module:
        """The network that reads the class off the nuisance outputs."""
        return model.get_submodule(PLAYER)

    def weight(self, model: BijectiveModel) -> float:
        """The weight of the nuisance classifier's cross-entropy in the bijection's loss."""
        return self.w_nuisance / (model.net.size - model.net.classes) if self.normalise else self.w_nuisance

    def optimizers(self, model: BijectiveModel) -> dict[str, torch.optim.Optimizer]:
        from torch.optim import Adamax

        if self.reversal:
            return {"model": self._optimizer(model, self.nuisance(model))}
        parameters = self.nuisance(model).parameters()
        return {**super().optimizers(model), PLAYER: Adamax(parameters, lr=self.nuisance_learning_rate)}

    def losses(
        self, model: BijectiveModel, inputs: Inputs, step: int, noise: torch.Generator
    ) -> Iterator[tuple[str, Terms]]:
        z, log_det = model.outputs(inputs.images, noise)
        nuisance, classes = model.net.split(z)[1], self.classes(model, inputs)
        terms = self.terms(model, inputs, z, log_det)
        if self.reversal:
            yield "model", self._reversed(model, terms, nuisance, classes)
            return
        for _ in range(self.inner_steps):
            yield PLAYER, nuisance_terms(self.nuisance(model), nuisance.detach(), classes)
        yield "model", self._paid(model, terms, nuisance, classes)

    def _paid(self, model: BijectiveModel, terms: Terms, nuisance: Tensor, classes: Tensor) -> Terms:
        """The bijection's loss: it is paid for the errors of the nuisance classifier, which stands still."""
        if not self.w_nuisance:
            return terms
        found = nuisance_terms(self.nuisance(model), nuisance, classes)
        reward = found.terms["cross_entropy"]
        if self.cap:
            reward = reward.clamp(max=label_entropy(classes, model.net.classes))
        return Terms({**terms.terms, "independence": -self.weight(model) * reward}, terms.watched)

    def _reversed(self, model: BijectiveModel, terms: Terms, nuisance: Tensor, classes: Tensor) -> Terms:
        """The loss of both players: the nuisance classifier's own, whose gradient is turned round on its way on."""
        network, weight = self.nuisance(model), self.weight(model)
        if self.cap:
            reward = nuisance_terms(network, nuisance.detach(), classes).terms["cross_entropy"]
            weight = weight if bool(reward < label_entropy(classes, model.net.classes)) else 0.0
        found = nuisance_terms(network, reverse_gradient(nuisance, weight), classes)
        watched = {**terms.watched, f"{PLAYER}_accuracy": found.watched["accuracy"]}
        return Terms({**terms.terms, PLAYER: found.terms["cross_entropy"]}, watched)


def nuisance_terms(network: nn.Module, nuisance: Tensor, classes: Tensor) -> Terms:
    """The nuisance classifier's loss: name the class by the outputs that are not logits."""
    from torch.nn.functional import cross_entropy

    scores = network(nuisance).float()
    return Terms(
        {"cross_entropy": cross_entropy(scores, classes)}, {"accuracy": (scores.argmax(1) == classes).float().mean()}
    )


def label_entropy(classes: Tensor, count: int) -> float:
    """Entropy, in nats, of the classes of a batch.

    >>> import torch
    >>> round(label_entropy(torch.tensor([0, 1, 1, 0]), 3), 4)
    0.6931
    """
    import torch

    shares = torch.bincount(classes, minlength=count).double() / len(classes)
    return float(torch.special.entr(shares).sum())


def reverse_gradient(x: Tensor, weight: float) -> Tensor:
    """x itself, whose gradient is multiplied by ``-weight`` on the way back (Ganin et al., 2016)."""
    return x.detach() - weight * (x - x.detach())  # a difference that is zero, and whose derivative is not

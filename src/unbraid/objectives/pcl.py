"""Permutation-contrastive learning: tell true pairs from pairs that never were (Hyvärinen & Morioka, 2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.objectives.base import Inputs, Problem, Terms, register
from unbraid.objectives.checks import check_count, check_not_negative, check_positive
from unbraid.objectives.pairs import PairObjective, stacked
from unbraid.objectives.slow_flow import LARGEST

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unbraid.nets import PairClassifier

__all__ = ["PCL", "derangement"]


def derangement(n: int, generator: torch.Generator) -> Tensor:
    """A random order of n things in which none keeps its place."""
    import torch

    order = torch.randperm(n, generator=generator, device=generator.device)
    return order.roll(1)[order.argsort()]


@register("pcl")
@dataclass(frozen=True)
class PCL(PairObjective):
    """Encoder trained to tell true pairs from shuffled ones, latent by latent (Hyvärinen & Morioka, 2017).

    The classifier sees features h of both images through r = -sum |w1 h(x_t) + w2 h(x_{t-1}) + b|
    + sum a h(x_t)^2 + sum a' h(x_{t-1})^2 + c only. There is no decoder.
    """

    title = "PCL"
    formula = "cross-entropy of true against shuffled pairs, compared feature by feature"

    representations = ("mean",)

    latents: int = 10
    """Number of features."""
    net: str = "slow"
    """Encoder by name: slow, conv, fc, mlp, or an own registered pair, of which the decoder is left out."""
    flow: int = 0
    """Coupling layers of an invertible encoder in place of net, as slow-flow has: PCL (NF). 0: none."""
    flow_width: int = 500
    """Hidden units of each coupling layer's network."""
    learning_rate: float = 1e-4
    """Step size of Adam."""

    def __post_init__(self) -> None:
        check_count(self, "latents")
        check_positive(self, "learning_rate", "flow_width")
        check_not_negative(self, "flow")

    def build(self, problem: Problem, generator: torch.Generator) -> PairClassifier:
        from unbraid import nets

        if self.flow:
            return nets.PairClassifier(self._flow(problem, generator), nets.PairComparison(self.latents))
        encoder, _ = nets.build(self.net, problem.shape, self.latents, heads=1, generator=generator)
        return nets.PairClassifier(encoder, nets.PairComparison(self.latents))

    def _flow(self, problem: Problem, generator: torch.Generator) -> torch.nn.Module:
        from unbraid import nets

        size = math.prod(problem.shape)
        if self.latents != size:
            raise UsageError(
                f"an invertible encoder has as many features as an image has numbers: latents must be {size}, "
                f"got {self.latents}; or leave out flow"
            )
        if size > LARGEST:
            raise UsageError(f"flow takes at most {LARGEST} numbers per image, got {size}; use smaller images")
        return nets.FlowCodes(nets.coupling_flow(size, blocks=self.flow, width=self.flow_width, generator=generator))

    def optimizers(self, model: PairClassifier) -> dict[str, torch.optim.Optimizer]:
        from torch.optim import Adam

        return {"model": Adam(model.parameters(), lr=self.learning_rate, betas=(0.9, 0.999), eps=1e-8, fused=True)}

    def loss(self, model: PairClassifier, inputs: Inputs, step: int, noise: torch.Generator) -> Terms:
        from torch.nn.functional import softplus

        if len(inputs.images) < 2:
            raise UsageError("pcl needs at least two pairs in a batch to shuffle, got one")
        past, present = self.encode(model, stacked(inputs)).chunk(2)
        true = model.comparison(present, past)
        wrong = model.comparison(present, past[derangement(len(past), noise)])
        right = 0.5 * ((true > 0).float().mean() + (wrong < 0).float().mean())
        return Terms(
            {"cross_entropy": 0.5 * (softplus(-true).mean() + softplus(wrong).mean())},
            {"accuracy": right, "movement": (present - past).abs().mean()},
        )

    def encode(self, model: PairClassifier, images: Tensor, noise: torch.Generator | None = None) -> Tensor:
        if noise is not None:
            raise UsageError("features of pcl are not random: there is no sampled representation; ask for the mean")
        return model.encoder(images).float()

    def describe(self, model: PairClassifier, images: Tensor, noise: torch.Generator) -> dict[str, Tensor]:
        return {"mean": self.encode(model, images)}

"""The sparse transition prior with its exact likelihood: an invertible network in place of the VAE."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from unbraid.errors import UsageError
from unbraid.objectives.base import Inputs, Problem, Terms, register
from unbraid.objectives.checks import check_not_negative, check_positive
from unbraid.objectives.pairs import PairObjective, stacked
from unbraid.objectives.transition_prior import log_normaliser

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unbraid.nets import FlowModel

__all__ = ["SlowFlow"]

LARGEST = 1024
"""Numbers per image; the determinant of a larger matrix would take most of the time."""


@register("slow-flow")
@dataclass(frozen=True)
class SlowFlow(PairObjective):
    """Invertible map to sparsely moving latents, trained on the exact likelihood of pairs (Klindt et al., 2021).

    As many latents as numbers per image: for toys and small images. The loss of a pair is -log N(z_0; 0, I)
    - log p(z_1 - ar z_0) - log abs det df/dx at both images.
    """

    title = "SlowFlow"
    formula = "−log N(z₀; 0, I) − log p(z₁ − ar · z₀) − log |det ∂f/∂x| at both images"

    representations = ("mean",)

    kind: Literal["linear", "coupling"] = "linear"
    """linear: one matrix; coupling: volume-preserving coupling layers between two matrices."""
    rate: float = 6.0
    """Rate lambda of the transition prior exp(-lambda |step|^alpha)."""
    alpha: float = 1.0
    """Shape of the transition prior: 1 is Laplace, smaller is sparser, 2 is normal."""
    ar: float = 1.0
    """Autoregressive coefficient: how much of a latent is expected to stay; 1 is a random walk."""
    blocks: int = 6
    """Coupling layers."""
    width: int = 500
    """Hidden units of each coupling layer's network."""
    jitter: float = 0.0
    """Standard deviation of the normal noise added to images in training; images that fill no volume need some."""
    learning_rate: float = 1e-3
    """Step size of Adam."""

    def __post_init__(self) -> None:
        check_positive(self, "rate", "alpha", "blocks", "width", "learning_rate")
        check_not_negative(self, "jitter", "ar")
        if self.kind not in ("linear", "coupling"):
            raise UsageError(f"kind must be linear or coupling, got {self.kind!r}")

    def build(self, problem: Problem, generator: torch.Generator) -> FlowModel:
        from unbraid import nets

        size = math.prod(problem.shape)
        if size > LARGEST:
            raise UsageError(f"slow-flow takes at most {LARGEST} numbers per image, got {size}; use smaller images")
        if self.kind == "linear":
            flow = nets.Flow([nets.InvertibleLinear(size)])
        else:
            flow = nets.coupling_flow(size, blocks=self.blocks, width=self.width, generator=generator)
        return nets.FlowModel(flow, problem)

    def optimizers(self, model: FlowModel) -> dict[str, torch.optim.Optimizer]:
        from torch.optim import Adam

        return {"model": Adam(model.parameters(), lr=self.learning_rate, betas=(0.9, 0.999), eps=1e-8, fused=True)}

    def loss(self, model: FlowModel, inputs: Inputs, step: int, noise: torch.Generator) -> Terms:
        import torch

        x = stacked(inputs).flatten(1)
        if self.jitter:
            x = x + self.jitter * torch.randn(x.shape, generator=noise, device=x.device)
        z, log_det = model.flow(x)
        past, present = z.chunk(2)
        steps = present - self.ar * past
        density = self.rate * steps.abs().pow(self.alpha).sum(1) - z.shape[1] * log_normaliser(self.alpha, self.rate)
        return Terms(
            {
                "marginal": _normal_nll(past).mean(),
                "transition": density.mean(),
                "volume": -2 * log_det.mean(),
            },
            {"movement": (present - past).abs().mean()},
        )

    def encode(self, model: FlowModel, images: Tensor, noise: torch.Generator | None = None) -> Tensor:
        if noise is not None:
            raise UsageError("codes of slow-flow are not random: there is no sampled representation; ask for the mean")
        return model.flow(images.flatten(1))[0]

    def decode(self, model: FlowModel, codes: Tensor) -> Tensor:
        *grid, last = model.problem.shape
        return model.flow.inverse(codes)[0].reshape(-1, last, *grid)

    def describe(self, model: FlowModel, images: Tensor, noise: torch.Generator) -> dict[str, Tensor]:
        z, log_det = model.flow(images.flatten(1))
        return {"nll": _normal_nll(z) - log_det, "mean": z}


def _normal_nll(z: Tensor) -> Tensor:
    return 0.5 * (z.square() + math.log(2 * math.pi)).sum(1)

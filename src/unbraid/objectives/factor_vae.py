"""The VAE that pays for the total correlation of its code, as a second network sees it (Kim & Mnih, 2018)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.objectives.autoencoder import VAEObjective
from unbraid.objectives.base import Inputs, Problem, Terms, register
from unbraid.objectives.checks import check_not_negative, check_positive
from unbraid.objectives.titles import KL, NLL

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from unbraid.nets import Autoencoder, Gaussian

__all__ = ["FactorVAE", "discriminator_terms", "log_ratio", "permute_dims"]

CLIP = 1e-6
"""Probabilities are kept this far from 0 and 1 in the discriminator's own loss."""


def permute_dims(codes: Tensor, generator: torch.Generator) -> Tensor:
    """Shuffle every latent across the batch on its own: draws from the product of the marginals."""
    import torch

    order = torch.rand(codes.shape, generator=generator, device=codes.device).argsort(0)
    return codes.gather(0, order)


def log_ratio(logits: Tensor) -> Tensor:
    """Mean log q(z) / prod_k q(z_k) by a classifier's logits ``[n, 2]``: class 0 is q(z), class 1 the product."""
    return (logits[:, 0] - logits[:, 1]).mean()


def discriminator_terms(discriminator: nn.Module, codes: Tensor, shuffled: Tensor) -> Terms:
    """The discriminator's loss: tell codes (class 0) from shuffled ones (class 1)."""
    import torch

    logits = discriminator(torch.cat([codes, shuffled]))
    log_p = logits.log_softmax(1).clamp(math.log(CLIP), math.log1p(-CLIP))
    joint, product = log_p[: len(codes), 0], log_p[len(codes) :, 1]
    right = ((joint > math.log(0.5)).float().mean() + (product > math.log(0.5)).float().mean()) / 2
    return Terms({"cross_entropy": -0.5 * (joint.mean() + product.mean())}, {"accuracy": right})


@register("factor-vae")
@dataclass(frozen=True)
class FactorVAE(VAEObjective):
    """VAE with a discriminator that estimates the total correlation of the code (Kim & Mnih, 2018).

    The loss is reconstruction + KL + gamma * TC. The discriminator learns beside it, one update each per step, to tell
    codes from codes whose dimensions were shuffled.
    """

    title = "FactorVAE"
    formula = f"{NLL} + {KL} + {{gamma}} · TC(z), TC by a discriminator"

    sweep = ("gamma", (10, 20, 30, 40, 50, 100))

    gamma: float = 30.0
    """Weight of the total correlation."""
    second_batch: bool = False
    """Shuffle the codes of a second batch of images, as in the paper, instead of those of the first."""
    half_steps: bool = False
    """Count an update of each network as a step of its own, as the study's code does: N steps are N/2 of each."""
    discriminator_width: int = 1000
    """Units per hidden layer of the discriminator."""
    discriminator_depth: int = 6
    """Hidden layers of the discriminator."""
    discriminator_learning_rate: float = 1e-4
    """Step size of the discriminator's Adam."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "gamma")
        check_positive(self, "discriminator_width", "discriminator_depth", "discriminator_learning_rate")

    @property
    def needs(self) -> str:  # type: ignore[override]
        return "two-batches" if self.second_batch else "images"

    def updates(self, steps: int) -> int:
        return (steps + 1) // 2 if self.half_steps else steps

    def build(self, problem: Problem, generator: torch.Generator) -> Autoencoder:
        from unbraid import nets

        model = super().build(problem, generator)
        width, depth = self.discriminator_width, self.discriminator_depth
        model.add_module(
            "discriminator", nets.discriminator(self.latents, width=width, depth=depth, generator=generator)
        )
        return model

    def discriminator(self, model: Autoencoder) -> nn.Module:
        """The network that tells codes from shuffled ones."""
        return model.get_submodule("discriminator")

    def optimizers(self, model: Autoencoder) -> dict[str, torch.optim.Optimizer]:
        from torch.optim import Adam

        parameters = self.discriminator(model).parameters()
        rate = self.discriminator_learning_rate
        adversary = Adam(parameters, lr=rate, betas=(0.5, 0.9), eps=1e-8, fused=True)
        return {**super().optimizers(model), "discriminator": adversary}

    def losses(
        self, model: Autoencoder, inputs: Inputs, step: int, noise: torch.Generator
    ) -> Iterator[tuple[str, Terms]]:
        posterior = self.posterior(model, inputs.images)
        sample = posterior.sample(generator=noise)
        # Drawn before the first player moves: both see the same encoder.
        other = self._second_codes(model, inputs, noise) if self.second_batch else sample.detach()
        yield "model", self.terms(model, inputs, posterior, sample, step)
        shuffled = permute_dims(other, noise)
        yield "discriminator", discriminator_terms(self.discriminator(model), sample.detach(), shuffled)

    def regulariser(self, model: Autoencoder, inputs: Inputs, posterior: Gaussian, sample: Tensor, step: int) -> Terms:
        tc = log_ratio(self.discriminator(model)(sample))
        return Terms({"penalty": posterior.kl().mean() + self.gamma * tc}, {"tc": tc})

    def _second_codes(self, model: Autoencoder, inputs: Inputs, noise: torch.Generator) -> Tensor:
        import torch

        if inputs.partners is None:
            raise UsageError("second_batch needs a stream with a second batch of images (partners), got none")
        with torch.no_grad():
            return self.posterior(model, inputs.partners).sample(generator=noise)

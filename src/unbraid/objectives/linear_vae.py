"""The linear VAE (Rolinek et al., 2019): affine both ways, so that theory says what it ends in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from unbraid.objectives.base import Codes, Inputs, Terms, register
from unbraid.objectives.titles import KL, NLL
from unbraid.objectives.vae import BetaVAE

if TYPE_CHECKING:
    from torch import Tensor

    from unbraid.nets import Autoencoder, Gaussian

__all__ = ["LinearVAE"]


@register("linear-vae")
@dataclass(frozen=True)
class LinearVAE(BetaVAE):
    """Beta-VAE with affine encoder and decoder and squared error: it finds the principal components, axes and all.

    A direction of variance v stays active while v > beta / 2, pixels counted from 0 to 1.
    """

    title = "Linear VAE"
    formula = f"{NLL} + {{beta}} · {KL}, encoder and decoder affine"

    sweep = None  # type: ignore[assignment]
    net: ClassVar[str] = "linear"  # type: ignore[misc]
    likelihood: ClassVar[str] = "gaussian"  # type: ignore[misc]
    reference_size: ClassVar[int] = 0  # type: ignore[misc]

    latents: int = 2
    """Number of latent dimensions."""
    beta: float = 0.01
    """Weight of the KL divergence to the prior."""
    learning_rate: float = 3e-3
    """Step size of the optimiser."""
    sampled: bool = False
    """Draw the codes' noise, as other VAEs must, instead of averaging over it exactly."""

    def terms(self, model: Autoencoder, inputs: Inputs, posterior: Gaussian, sample: Tensor, step: int) -> Terms:
        if self.sampled:
            return super().terms(model, inputs, posterior, sample, step)
        decoder, matrix = model.decoder, model.get_parameter("decoder.0.weight")
        deterministic = self.reconstruction(decoder(posterior.mean), inputs.targets).mean()
        # E|D (mu + noise) + b - x|^2 = |D mu + b - x|^2 + sum_j |d_j|^2 sigma_j^2.
        stochastic = (posterior.logvar.exp() @ matrix.square().sum(0)).mean()
        added = self.regulariser(model, inputs, posterior, sample, step)
        return Terms(
            {"reconstruction": deterministic + stochastic, **added.terms},
            {"kl": posterior.kl().mean(), "stochastic": stochastic, **added.watched},
            Codes(posterior.mean, posterior.mean),
        )

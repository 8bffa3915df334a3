"""The beta-VAE whose posterior may have any covariance: the control that loses the alignment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.objectives.base import register
from unbraid.objectives.titles import KL, NLL
from unbraid.objectives.vae import BetaVAE

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unbraid.nets import Autoencoder, FullGaussian

__all__ = ["FullBetaVAE"]


@register("full-beta-vae")
@dataclass(frozen=True)
class FullBetaVAE(BetaVAE):
    """Beta-VAE with a full covariance posterior (Cholesky factor): its loss does not care how latents are turned."""

    title = "β-VAE with full covariance"
    formula = f"{NLL} + {{beta}} · {KL}, q with full covariance"

    def heads(self) -> int:
        from unbraid.nets import full_heads

        return full_heads(self.latents)

    def posterior(self, model: Autoencoder, images: Tensor) -> FullGaussian:
        from unbraid.nets import FullGaussian

        return FullGaussian.from_numbers(model.encoder(images), self.latents)

    def describe(self, model: Autoencoder, images: Tensor, noise: torch.Generator) -> dict[str, Tensor]:
        """As for every VAE (``logvar`` is that of the marginals), and the ``covariance`` ``[n, d, d]``."""
        return {**super().describe(model, images, noise), "covariance": self.posterior(model, images).covariance}

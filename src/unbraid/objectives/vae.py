"""The variational autoencoder (Kingma & Welling, 2014) and its weighted form (Higgins et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.objectives.autoencoder import VAEObjective
from unbraid.objectives.base import Terms, register
from unbraid.objectives.checks import check_not_negative
from unbraid.objectives.titles import KL, NLL

if TYPE_CHECKING:
    from torch import Tensor

    from unbraid.nets import Gaussian

__all__ = ["VAE", "BetaVAE"]


@register("vae")
@dataclass(frozen=True)
class VAE(VAEObjective):
    """Variational autoencoder: reconstruction plus the KL divergence to the standard normal prior."""

    title = "VAE"
    formula = f"{NLL} + {KL}"

    def penalty(self, posterior: Gaussian, sample: Tensor, step: int) -> Terms:
        return Terms({"penalty": posterior.kl().mean()})


@register("beta-vae")
@dataclass(frozen=True)
class BetaVAE(VAEObjective):
    """VAE whose KL term weighs beta times as much (Higgins et al., 2017)."""

    title = "β-VAE"
    formula = f"{NLL} + {{beta}} · {KL}"

    sweep = ("beta", (1, 2, 4, 6, 8, 16))

    beta: float = 4.0
    """Weight of the KL divergence to the prior."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "beta")

    def penalty(self, posterior: Gaussian, sample: Tensor, step: int) -> Terms:
        return Terms({"penalty": self.beta * posterior.kl().mean()})

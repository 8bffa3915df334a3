"""The VAE whose prior of one image is the posterior of its neighbour: an ablation of the transition prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.objectives.base import Terms, register
from unbraid.objectives.checks import check_not_negative
from unbraid.objectives.pairs import PairVAEObjective, halves
from unbraid.objectives.titles import KL, NLL
from unbraid.objectives.transition_prior import gaussian_kl

if TYPE_CHECKING:
    from torch import Tensor

    from unbraid.nets import Gaussian

__all__ = ["PMVAE"]


@register("pm-vae")
@dataclass(frozen=True)
class PMVAE(PairVAEObjective):
    """VAE whose posteriors of the two images of a pair should match (Klindt et al., 2021).

    slow-vae with q(z_{t-1}|x_{t-1}) in place of the transition prior. Not quite a rotation-blind control: the variances
    depend on the image, and on the axes.
    """

    title = "PM-VAE"
    formula = f"{NLL} + {{beta}} · {KL} + {{gamma}} · KL between the posteriors of both images, averaged both ways"

    sweep = ("gamma", (1, 2, 4, 8, 10, 16))

    net: str = "slow"
    """Encoder and decoder by name: slow (the release's), conv (the study's), fc, mlp, or an own registered pair."""
    beta: float = 1.0
    """Weight of the KL divergence to the standard normal prior of single images."""
    gamma: float = 10.0
    """Weight of the KL divergence between both posteriors, averaged over both directions."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "beta", "gamma")

    def penalty(self, posterior: Gaussian, sample: Tensor, step: int) -> Terms:
        first, second = halves(posterior)
        matching = 0.5 * (gaussian_kl(first, second) + gaussian_kl(second, first)).sum(1).mean()
        return Terms(
            {"penalty": self.beta * posterior.kl().mean() + self.gamma * matching},
            {"transition": matching, "movement": (first.mean - second.mean).abs().mean()},
        )

"""The VAE whose code may hold more and more information as training goes on (Burgess et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.objectives.autoencoder import VAEObjective
from unbraid.objectives.base import Terms, register
from unbraid.objectives.checks import check_not_negative, check_positive
from unbraid.objectives.titles import KL, NLL

if TYPE_CHECKING:
    from torch import Tensor

    from unbraid.nets import Gaussian

__all__ = ["AnnealedVAE"]


@register("annealed-vae")
@dataclass(frozen=True)
class AnnealedVAE(VAEObjective):
    """VAE whose KL divergence is held to a capacity that grows during training (Burgess et al., 2018).

    The loss is reconstruction + gamma * abs(KL - C(t)), C(t) rising linearly to c_max. More capacity is *less*
    regularisation.
    """

    title = "AnnealedVAE"
    formula = f"{NLL} + {{gamma}} · |{KL} − C(t)|, C(t) rising to {{c_max}} nats"

    sweep = ("c_max", (5, 10, 25, 50, 75, 100))
    regularisation = -1

    c_max: float = 25.0
    """Capacity reached in the end, in nats per image."""
    gamma: float = 1000.0
    """Weight of the distance between the KL divergence and the capacity."""
    anneal_steps: int = 100_000
    """Steps until the capacity is reached."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "c_max", "gamma")
        check_positive(self, "anneal_steps")

    def capacity(self, step: int) -> float:
        """C(t), in nats.

        >>> AnnealedVAE(c_max=25).capacity(50_000)
        12.5
        """
        return min(self.c_max, self.c_max * step / self.anneal_steps)

    def penalty(self, posterior: Gaussian, sample: Tensor, step: int) -> Terms:
        # Of the batch mean, not of every image: a single image may take more than its share.
        kl, capacity = posterior.kl().mean(), self.capacity(step)
        return Terms({"penalty": self.gamma * (kl - capacity).abs()}, {"capacity": kl.new_tensor(capacity)})

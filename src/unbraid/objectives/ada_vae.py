"""VAEs that share what did not change between two images (Locatello et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from unbraid.errors import UsageError
from unbraid.objectives.base import Terms, register
from unbraid.objectives.checks import check_not_negative
from unbraid.objectives.pairs import PairVAEObjective, halves
from unbraid.objectives.titles import KL, NLL
from unbraid.objectives.transition_prior import gaussian_kl

if TYPE_CHECKING:
    from torch import Tensor

    from unbraid.nets import Gaussian

__all__ = ["AdaGVAE", "AdaMLVAE", "AdaObjective", "shared_latents"]

Distance = Literal["forward", "reverse", "symmetric"]


def shared_latents(first: Gaussian, second: Gaussian, distance: Distance = "forward") -> Tensor:
    """Which latents ``[n, d]`` both images of a pair are taken to share: those nearer than halfway to the farthest.

    With delta_i = KL(q1_i || q2_i) (``forward``), KL(q2_i || q1_i) (``reverse``) or their mean, latent i is shared when
    delta_i < (max_j delta_j + min_j delta_j) / 2. At least one latent is never shared.
    """
    if distance == "forward":
        delta = gaussian_kl(first, second)
    elif distance == "reverse":
        delta = gaussian_kl(second, first)
    else:
        delta = 0.5 * (gaussian_kl(first, second) + gaussian_kl(second, first))
    return delta < 0.5 * (delta.amax(1, keepdim=True) + delta.amin(1, keepdim=True))


@dataclass(frozen=True)
class AdaObjective(PairVAEObjective):
    """What both methods share: mean reconstruction + beta * mean KL of posteriors that share what did not change."""

    sweep = ("beta", (1, 2, 4, 6, 8, 16))
    counted: ClassVar[int] = 1

    beta: float = 1.0
    """Weight of the KL divergence to the prior, after sharing."""
    distance: Distance = "forward"
    """How far apart two posteriors are: forward KL(q1 || q2), reverse KL(q2 || q1), or symmetric, their mean."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "beta")
        if self.distance not in ("forward", "reverse", "symmetric"):
            raise UsageError(f"distance must be forward, reverse or symmetric, got {self.distance!r}")

    def average(self, first: Gaussian, second: Gaussian) -> Gaussian:
        """The posterior that takes the place of both."""
        raise UsageError(f"objective {self.name!r} does not say how to share: define average(first, second)")

    def couple(self, posterior: Gaussian) -> Gaussian:
        import torch

        from unbraid.nets import Gaussian

        first, second = halves(posterior)
        shared = shared_latents(first, second, self.distance).repeat(2, 1)
        both = self.average(first, second)
        return Gaussian(
            torch.where(shared, both.mean.repeat(2, 1), posterior.mean),
            torch.where(shared, both.logvar.repeat(2, 1), posterior.logvar),
        )

    def penalty(self, posterior: Gaussian, sample: Tensor, step: int) -> Terms:
        first, second = halves(posterior)
        # Sharing makes both posteriors equal to the last bit, which separate ones practically never are.
        shared = ((first.mean == second.mean) & (first.logvar == second.logvar)).sum(1, dtype=sample.dtype)
        return Terms({"penalty": self.beta * posterior.kl().mean()}, {"shared": shared.mean()})


@register("ada-gvae")
@dataclass(frozen=True)
class AdaGVAE(AdaObjective):
    """VAE that averages mean and variance of the latents two images share (Locatello et al., 2020)."""

    title = "Ada-GVAE"
    formula = f"{NLL} + {{beta}} · {KL}, posteriors averaged in the latents a pair shares"

    def average(self, first: Gaussian, second: Gaussian) -> Gaussian:
        import torch

        from unbraid.nets import Gaussian

        # log of the mean variance, without leaving logarithms: a variance of exp(-100) would be lost in float32.
        logvar = torch.logaddexp(first.logvar, second.logvar) - torch.log(first.logvar.new_tensor(2.0))
        return Gaussian(0.5 * (first.mean + second.mean), logvar)


@register("ada-ml-vae")
@dataclass(frozen=True)
class AdaMLVAE(AdaObjective):
    """VAE that multiplies the densities of the latents two images share (Bouchacourt et al., Locatello et al., 2020).

    The normalised geometric mean of both posteriors: precisions are averaged, means weighted by them.
    """

    title = "Ada-ML-VAE"
    formula = f"{NLL} + {{beta}} · {KL}, posteriors multiplied in the latents a pair shares"

    def average(self, first: Gaussian, second: Gaussian) -> Gaussian:
        import torch

        from unbraid.nets import Gaussian

        weight = torch.sigmoid(second.logvar - first.logvar)  # precision of the first in the sum of both
        logvar = torch.log(first.logvar.new_tensor(2.0)) - torch.logaddexp(-first.logvar, -second.logvar)
        return Gaussian(weight * first.mean + (1 - weight) * second.mean, logvar)

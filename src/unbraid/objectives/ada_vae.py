"""VAEs that share what did not change between two images (Locatello et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from unbraid.errors import UsageError
from unbraid.objectives.base import Inputs, register
from unbraid.objectives.sharing import SharingObjective, averaged, multiplied
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
class AdaObjective(SharingObjective):
    """What both methods share: the latents in which two posteriors are near are taken to be shared."""

    sweep = ("beta", (1, 2, 4, 6, 8, 16))

    distance: Distance = "forward"
    """How far apart two posteriors are: forward KL(q1 || q2), reverse KL(q2 || q1), or symmetric, their mean."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.distance not in ("forward", "reverse", "symmetric"):
            raise UsageError(f"distance must be forward, reverse or symmetric, got {self.distance!r}")

    def shared(self, first: Gaussian, second: Gaussian, inputs: Inputs | None) -> Tensor:
        return shared_latents(first, second, self.distance)


@register("ada-gvae")
@dataclass(frozen=True)
class AdaGVAE(AdaObjective):
    """VAE that averages mean and variance of the latents two images share (Locatello et al., 2020)."""

    title = "Ada-GVAE"
    formula = f"{NLL} + {{beta}} · {KL}, posteriors averaged in the latents a pair shares"

    def average(self, first: Gaussian, second: Gaussian) -> Gaussian:
        return averaged(first, second)


@register("ada-ml-vae")
@dataclass(frozen=True)
class AdaMLVAE(AdaObjective):
    """VAE that multiplies the densities of the latents two images share (Bouchacourt et al., Locatello et al., 2020).

    The normalised geometric mean of both posteriors: precisions are averaged, means weighted by them.
    """

    title = "Ada-ML-VAE"
    formula = f"{NLL} + {{beta}} · {KL}, posteriors multiplied in the latents a pair shares"

    def average(self, first: Gaussian, second: Gaussian) -> Gaussian:
        return multiplied(first, second)

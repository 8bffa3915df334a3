"""VAEs on pairs that put one posterior in the place of two wherever both images share a latent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from unbraid.errors import UsageError
from unbraid.objectives.base import Inputs, Terms
from unbraid.objectives.checks import check_not_negative
from unbraid.objectives.pairs import PairVAEObjective, halves

if TYPE_CHECKING:
    from torch import Tensor

    from unbraid.nets import Gaussian

__all__ = ["SharingObjective", "averaged", "multiplied"]


def averaged(first: Gaussian, second: Gaussian) -> Gaussian:
    """Means and variances averaged (Hosoya, 2019)."""
    import torch

    from unbraid.nets import Gaussian

    # log of the mean variance, without leaving logarithms: a variance of exp(-100) would be lost in float32.
    logvar = torch.logaddexp(first.logvar, second.logvar) - torch.log(first.logvar.new_tensor(2.0))
    return Gaussian(0.5 * (first.mean + second.mean), logvar)


def multiplied(first: Gaussian, second: Gaussian) -> Gaussian:
    """The normalised geometric mean of both densities (Bouchacourt et al., 2018): the mean of both precisions."""
    import torch

    from unbraid.nets import Gaussian

    weight = torch.sigmoid(second.logvar - first.logvar)  # precision of the first in the sum of both
    logvar = torch.log(first.logvar.new_tensor(2.0)) - torch.logaddexp(-first.logvar, -second.logvar)
    return Gaussian(weight * first.mean + (1 - weight) * second.mean, logvar)


@dataclass(frozen=True)
class SharingObjective(PairVAEObjective):
    """Mean reconstruction + beta * mean KL of posteriors that share what did not change."""

    counted: ClassVar[int] = 1

    beta: float = 1.0
    """Weight of the KL divergence to the prior, after sharing."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "beta")

    def shared(self, first: Gaussian, second: Gaussian, inputs: Inputs | None) -> Tensor:
        """Which latents ``[n, d]`` both images of a pair share."""
        raise UsageError(f"objective {self.name!r} does not say what is shared: define shared(first, second, inputs)")

    def average(self, first: Gaussian, second: Gaussian) -> Gaussian:
        """The posterior that takes the place of both."""
        raise UsageError(f"objective {self.name!r} does not say how to share: define average(first, second)")

    def couple(self, posterior: Gaussian, inputs: Inputs | None = None) -> Gaussian:
        import torch

        from unbraid.nets import Gaussian

        first, second = halves(posterior)
        shared = self.shared(first, second, inputs).repeat(2, 1)
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

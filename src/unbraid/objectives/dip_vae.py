"""VAEs whose aggregate code is pulled towards unit covariance (Kumar et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.objectives.autoencoder import VAEObjective
from unbraid.objectives.base import Terms, register
from unbraid.objectives.checks import check_not_negative
from unbraid.objectives.titles import KL, NLL

if TYPE_CHECKING:
    from torch import Tensor

    from unbraid.nets import Gaussian

__all__ = ["DIPVAEI", "DIPVAEII", "DIPObjective", "batch_covariance"]


def batch_covariance(codes: Tensor) -> Tensor:
    """Covariance ``[d, d]`` of codes ``[n, d]``, divided by n (not n - 1)."""
    centred = codes - codes.mean(0)
    # A sum of products rather than a matrix product, which automatic mixed precision would round to bfloat16.
    return (centred[:, :, None] * centred[:, None, :]).mean(0)


@dataclass(frozen=True)
class DIPObjective(VAEObjective):
    """What both methods share: reconstruction + KL + lambda_od * off + lambda_d * on.

    ``off`` is the sum of the squared off-diagonal entries of a covariance, ``on`` that of the squared distances of its
    diagonal from one; lambda_d = lambda_d_factor * lambda_od.
    """

    sweep = ("lambda_od", (1, 2, 5, 10, 20, 50))

    lambda_od: float = 10.0
    """Weight of the squared covariances between latents."""
    lambda_d_factor: float = 1.0
    """Weight of the squared distance of each latent's variance from 1, as a multiple of lambda_od."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "lambda_od", "lambda_d_factor")

    def covariance(self, posterior: Gaussian) -> Tensor:
        """The covariance ``[d, d]`` that should be the unit matrix."""
        raise UsageError(f"objective {self.name!r} does not say of what: define covariance(posterior)")

    def penalty(self, posterior: Gaussian, sample: Tensor, step: int) -> Terms:
        covariance = self.covariance(posterior)
        variances = covariance.diagonal()
        off = (covariance - variances.diag()).square().sum()
        on = (variances - 1).square().sum()
        moments = self.lambda_od * off + self.lambda_d_factor * self.lambda_od * on
        return Terms({"penalty": posterior.kl().mean() + moments}, {"off_diagonal": off, "diagonal": on})


@register("dip-vae-i")
@dataclass(frozen=True)
class DIPVAEI(DIPObjective):
    """VAE whose mean codes should have unit covariance (Kumar et al., 2018)."""

    title = "DIP-VAE-I"
    formula = f"{NLL} + {KL} + {{lambda_od}} · (Σ off² + {{lambda_d_factor}} · Σ (diag − 1)²) of Cov[μ(x)]"

    lambda_d_factor: float = 10.0
    """Weight of the squared distance of each latent's variance from 1, as a multiple of lambda_od."""

    def covariance(self, posterior: Gaussian) -> Tensor:
        return batch_covariance(posterior.mean)


@register("dip-vae-ii")
@dataclass(frozen=True)
class DIPVAEII(DIPObjective):
    """VAE whose sampled codes should have unit covariance (Kumar et al., 2018)."""

    title = "DIP-VAE-II"
    formula = f"{NLL} + {KL} + {{lambda_od}} · (Σ off² + {{lambda_d_factor}} · Σ (diag − 1)²) of Cov[z]"

    def covariance(self, posterior: Gaussian) -> Tensor:
        return batch_covariance(posterior.mean) + posterior.logvar.exp().mean(0).diag()

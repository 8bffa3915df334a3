"""The VAE that pays for the total correlation of its code, estimated from the batch itself (Chen et al., 2018)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.objectives.autoencoder import VAEObjective
from unbraid.objectives.base import Inputs, Terms, register
from unbraid.objectives.checks import check_not_negative
from unbraid.objectives.titles import KL, NLL

if TYPE_CHECKING:
    from torch import Tensor

    from unbraid.nets import Autoencoder, Gaussian

__all__ = ["BetaTCVAE", "batch_total_correlation", "total_correlation_offset"]


def batch_total_correlation(posterior: Gaussian, sample: Tensor) -> Tensor:
    """Total correlation of sampled codes by minibatch-weighted sampling, without its constant (``tc_raw``).

    With l[j, i, k] = log q(z_jk | x_i) over all pairs of a batch, the mean over j of
    logsumexp_i sum_k l - sum_k logsumexp_i l. A batch of identical posteriors gives exactly -(d - 1) log B.
    """
    from unbraid.nets import pairwise_total_correlation

    return pairwise_total_correlation(posterior.mean, posterior.logvar, sample)


def total_correlation_offset(latents: int, images: int, batch_size: int) -> float:
    """What :func:`batch_total_correlation` lacks to the full estimate: (d - 1) log(N B)."""
    return (latents - 1) * math.log(images * batch_size)


@register("beta-tcvae")
@dataclass(frozen=True)
class BetaTCVAE(VAEObjective):
    """VAE whose total correlation weighs beta times as much (Chen et al., 2018).

    The loss is reconstruction + KL + (beta - 1) * TC, with the analytic KL and TC estimated from the batch. The
    history has the estimate as it stands in the loss (tc_raw) and with its constant (tc).
    """

    title = "β-TCVAE"
    formula = f"{NLL} + {KL} + ({{beta}} − 1) · TC(z), TC estimated from the batch"

    sweep = ("beta", (1, 2, 4, 6, 8, 10))

    beta: float = 6.0
    """Weight of the total correlation; 1 is the plain VAE."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "beta")

    def regulariser(self, model: Autoencoder, inputs: Inputs, posterior: Gaussian, sample: Tensor, step: int) -> Terms:
        tc_raw = batch_total_correlation(posterior, sample)
        offset = total_correlation_offset(sample.shape[1], model.problem.images, len(sample))
        return Terms(
            {"penalty": posterior.kl().mean() + (self.beta - 1) * tc_raw},
            {"tc": tc_raw.detach() + offset, "tc_raw": tc_raw},
        )

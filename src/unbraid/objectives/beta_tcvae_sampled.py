"""beta-TCVAE with every term estimated from the sampled code (Chen et al., 2018; Estermann, Marks & Yanik, 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from unbraid.errors import unknown_name
from unbraid.objectives.base import Inputs, Terms, register
from unbraid.objectives.beta_tcvae import BetaTCVAE
from unbraid.objectives.titles import NLL

if TYPE_CHECKING:
    from torch import Tensor

    from unbraid.nets import Autoencoder, Gaussian

__all__ = ["BetaTCVAESampled", "decomposed_kl", "stratified_log_weights", "weighted_log_weights"]


def weighted_log_weights(images: int, sample: Tensor) -> Tensor:
    """Minibatch-weighted sampling: every posterior of a batch of B stands for 1 / (N B) of q(z), ``[B, B]``."""
    import torch

    batch = len(sample)
    return torch.full((batch, batch), -math.log(images * batch), dtype=sample.dtype, device=sample.device)


def stratified_log_weights(images: int, sample: Tensor) -> Tensor:
    """Minibatch-stratified sampling: a code's own posterior counts 1 / N, the others share the rest, ``[B, B]``.

    The other N - 1 images are represented by B - 1 drawn ones, so each of these counts (N - 1) / (N (B - 1)) and the
    sum of densities is an unbiased estimate of q(z) when the batch is drawn without replacement.
    """
    import torch

    batch = len(sample)
    others = math.log(max(images - 1, 1) / (images * max(batch - 1, 1)))
    weights = torch.full((batch, batch), others, dtype=sample.dtype, device=sample.device)
    return weights.fill_diagonal_(-math.log(images))


def decomposed_kl(posterior: Gaussian, sample: Tensor, log_weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mutual information, total correlation and dimension-wise KL of sampled codes, each ``[B]``.

    log q(z_j) = logsumexp_i (log w_ji + sum_k l_jik) and log q(z_jk) = logsumexp_i (log w_ji + l_jik), with
    l_jik = log q(z_jk | x_i). Whatever the weights, the three add up to log q(z|x) - log p(z).
    """
    pairs = posterior.log_prob(sample[:, None])  # [j, i, k]
    conditional = posterior.log_prob(sample).sum(-1)  # log q(z|x)
    joint = (log_weights + pairs.sum(-1)).logsumexp(1)  # log q(z)
    marginals = (log_weights[..., None] + pairs).logsumexp(1).sum(-1)  # log prod_k q(z_k)
    prior = -0.5 * (sample.square() + math.log(2 * math.pi)).sum(-1)  # log p(z)
    return conditional - joint, joint - marginals, marginals - prior


_WEIGHTS = {"weighted": weighted_log_weights, "stratified": stratified_log_weights}


@register("beta-tcvae-sampled")
@dataclass(frozen=True)
class BetaTCVAESampled(BetaTCVAE):
    """beta-TCVAE whose KL, too, is estimated from the one sampled code instead of computed (Chen et al., 2018).

    The loss is reconstruction + MI + beta * TC + dimension-wise KL, all from one sample per image and with the
    constants of the estimator. At beta = 1 it is the single-sample ELBO.
    """

    title = "β-TCVAE (sampled)"
    formula = f"{NLL} + I(x; z) + {{beta}} · TC(z) + Σ KL(q(z_j) ‖ p(z_j)), all from one sample each"

    sampling: Literal["weighted", "stratified"] = "weighted"
    """How a batch stands for the data set in q(z): weighted (as published) or stratified."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sampling not in _WEIGHTS:
            raise unknown_name("sampling", self.sampling, _WEIGHTS)

    def regulariser(self, model: Autoencoder, inputs: Inputs, posterior: Gaussian, sample: Tensor, step: int) -> Terms:
        log_weights = _WEIGHTS[self.sampling](model.problem.images, sample)
        information, correlation, dimensions = (term.mean() for term in decomposed_kl(posterior, sample, log_weights))
        return Terms(
            {"penalty": information + self.beta * correlation + dimensions},
            {"mutual_information": information, "tc": correlation, "dimension_kl": dimensions},
        )

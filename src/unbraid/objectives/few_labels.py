"""VAEs that see the factors of a few images (Locatello et al., 2020): the semi-supervised baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.objectives.autoencoder import VAEObjective
from unbraid.objectives.base import Inputs, Problem, Terms, register
from unbraid.objectives.beta_tcvae import BetaTCVAE
from unbraid.objectives.checks import check_not_negative, check_positive
from unbraid.objectives.titles import KL, NLL
from unbraid.objectives.vae import BetaVAE
from unbraid.options import Named

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unbraid.nets import Autoencoder, Gaussian

__all__ = ["FewLabels", "S2BetaTCVAE", "S2BetaVAE", "label_loss"]


def label_loss(mean: Tensor, factors: Tensor, sizes: Tensor) -> Tensor:
    """Cross-entropy between sigmoid(mean_k) and v_k / size_k, summed over the batch and its K factors.

    The first K latents are tied to the K factors; the others stay free.
    """
    from torch.nn.functional import binary_cross_entropy_with_logits

    return binary_cross_entropy_with_logits(mean[:, : len(sizes)], factors / sizes, reduction="sum")


@dataclass(frozen=True)
class FewLabels(VAEObjective):
    """Mix-in for a VAE method: adds gamma_sup times the loss of a labelled batch to that of the unlabelled one.

    Put it first: ``class Mine(FewLabels, BetaVAE)``. The labelled images are drawn once, by ``label_seed``; every step
    takes a batch of them as large as the unlabelled one.
    """

    sweep = ("gamma_sup", (1, 10, 50, 100, 500, 1000))

    gamma_sup: float = 100.0
    """Weight of the loss on labelled images, which is a sum over their batch."""
    labels: int = 1000
    """How many images have their factors known; as many as there are images is full supervision."""
    label_seed: int = 0
    """Decides which images those are."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "gamma_sup", "label_seed")
        check_positive(self, "labels")

    @property
    def needs(self) -> Named:  # type: ignore[override]
        return Named("few-labels", {"labels": self.labels, "label_seed": self.label_seed})

    def build(self, problem: Problem, generator: torch.Generator) -> Autoencoder:
        if problem.factor_sizes is None:
            raise UsageError(f"objective {self.name!r} needs data with known factors; see `unbraid data list`")
        if self.latents < len(problem.factor_sizes):
            raise UsageError(
                f"latents must be at least the number of factors, {len(problem.factor_sizes)}, got {self.latents}: "
                "every factor has its own latent"
            )
        return super().build(problem, generator)

    def regulariser(self, model: Autoencoder, inputs: Inputs, posterior: Gaussian, sample: Tensor, step: int) -> Terms:
        if inputs.partners is None or inputs.partner_factors is None:
            raise UsageError(f"objective {self.name!r} needs a stream of labelled images (partners, partner_factors)")
        mean = self.posterior(model, inputs.partners).mean
        loss = label_loss(mean, inputs.partner_factors, mean.new_tensor(model.problem.factor_sizes or ()))
        added = super().regulariser(model, inputs, posterior, sample, step)
        return Terms({**added.terms, "supervised": self.gamma_sup * loss}, {**added.watched, "label_loss": loss})


@register("s2-beta-vae")
@dataclass(frozen=True)
class S2BetaVAE(FewLabels, BetaVAE):
    """beta-VAE that also learns the factors of a few labelled images (Locatello et al., 2020)."""

    title = "S2-β-VAE"
    formula = f"{NLL} + {{beta}} · {KL} + {{gamma_sup}} · loss of {{labels}} labelled images"


@register("s2-beta-tcvae")
@dataclass(frozen=True)
class S2BetaTCVAE(FewLabels, BetaTCVAE):
    """beta-TCVAE that also learns the factors of a few labelled images (Locatello et al., 2020)."""

    title = "S2-β-TCVAE"
    formula = f"{NLL} + {KL} + ({{beta}} − 1) · TC(z) + {{gamma_sup}} · loss of {{labels}} labelled images"

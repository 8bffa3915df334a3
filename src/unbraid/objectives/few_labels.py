"""VAEs that see the factors of a few images (Locatello et al., 2020): the semi-supervised baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.errors import UsageError, unknown_name
from unbraid.labelling import Labels
from unbraid.objectives.autoencoder import VAEObjective
from unbraid.objectives.base import Inputs, Problem, Terms, register
from unbraid.objectives.beta_tcvae import BetaTCVAE
from unbraid.objectives.checks import check_not_negative, check_positive
from unbraid.objectives.dip_vae import DIPVAEI, DIPVAEII
from unbraid.objectives.factor_vae import FactorVAE
from unbraid.objectives.label_losses import label_loss, label_reader
from unbraid.objectives.titles import KL, NLL
from unbraid.objectives.vae import BetaVAE
from unbraid.options import Named

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from unbraid.nets import Autoencoder, Gaussian

__all__ = [
    "S2DIPVAEI",
    "S2DIPVAEII",
    "FewLabels",
    "S2BetaTCVAE",
    "S2BetaVAE",
    "S2FactorVAE",
    "S2Supervised",
]

SCHEDULES = ("fixed", "anneal", "fine-tune")
"""How the weight of the labels grows."""


@dataclass(frozen=True)
class FewLabels(VAEObjective):
    """Mix-in for a VAE method: adds gamma_sup times the loss of a labelled batch to that of the unlabelled one.

    Put it first: ``class Mine(FewLabels, BetaVAE)``. The labelled images are drawn once, by ``label_seed``; every step
    takes a batch of them as large as the unlabelled one.
    """

    sweep = ("gamma_sup", (1, 10, 50, 100, 500, 1000))

    gamma_sup: float = 100.0
    """Weight of the loss on labelled images: over their batch a sum (xent, l2) or a mean (embed), or made of what the
    whole batch says (cov: squared covariances; s2-mine-vae: squared information)."""
    labels: int = 1000
    """How many images have their factors known; as many as there are images is full supervision."""
    label_seed: int = 0
    """Decides which images those are, and what a labeller draws."""
    labeller: str = "exact"
    """What the labels are like: exact, binned:bins=5 (coarse), noisy:p=0.1 (wrong now and then), permuted (numbered in
    another order), partial:factors=2 (of some factors only)."""
    label_loss: str = "xent"
    """xent (cross-entropy), l2 (squared distance; l2:learned=true with a learned scale), cov (no covariance with the
    labels of other factors), embed (every value has a learned place: even=true, sigma=1, learned=true)."""
    schedule: str = "fixed"
    """Weight of the labels: fixed, anneal (grows to its whole from step 0 to label_steps), fine-tune (0 up to
    label_steps, then whole)."""
    label_steps: int = 0
    """Steps of the schedule."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "gamma_sup", "label_seed", "label_steps")
        check_positive(self, "labels")
        self.reader((2,))  # refuses what is no loss
        if self.schedule not in SCHEDULES:
            raise unknown_name("schedule", self.schedule, SCHEDULES)
        if self.schedule != "fixed" and not self.label_steps:
            raise UsageError(f"schedule {self.schedule!r} needs label_steps, the step at which it ends")

    @property
    def needs(self) -> Named:  # type: ignore[override]
        exact = {} if self.labeller == "exact" else {"labeller": self.labeller}
        return Named("few-labels", {"labels": self.labels, "label_seed": self.label_seed, **exact})

    def label_weight(self, step: int) -> float:
        """The weight of the labels at a step.

        >>> S2BetaVAE(schedule="anneal", label_steps=100, gamma_sup=10.0).label_weight(50)
        5.0
        """
        if self.schedule == "anneal":
            return self.gamma_sup * min(1.0, step / self.label_steps)
        return self.gamma_sup * float(self.schedule == "fixed" or step > self.label_steps)

    def build(self, problem: Problem, generator: torch.Generator) -> Autoencoder:
        if problem.factor_sizes is None:
            raise UsageError(f"objective {self.name!r} needs data with known factors; see `unbraid data list`")
        sizes = Labels(self.labeller, problem.factor_sizes, self.label_seed).sizes
        if self.latents < len(sizes):
            raise UsageError(
                f"latents must be at least the number of factors, {len(sizes)}, got {self.latents}: "
                "every factor has its own latent"
            )
        model, reader = super().build(problem, generator), self.reader(sizes)
        if reader is not None:
            model.add_module("label_reader", reader)
        return model

    def reader(self, sizes: Sequence[int]) -> nn.Module | None:
        """What the loss of labels with so many values learns beside the encoder."""
        return label_reader(self.label_loss, sizes)

    def trained(self, model: Autoencoder) -> list[nn.Module]:
        reader = _reader_of(model)
        return super().trained(model) if reader is None else [*super().trained(model), reader]

    def labelled_loss(self, model: Autoencoder, mean: Tensor, factors: Tensor) -> Tensor:
        """The loss of mean codes ``[n, d]`` of labelled images, whose labels are ``[n, K]``."""
        sizes = Labels(self.labeller, model.problem.factor_sizes or (), self.label_seed).sizes
        return label_loss(mean, factors, mean.new_tensor(sizes), self.label_loss, _reader_of(model))

    def regulariser(self, model: Autoencoder, inputs: Inputs, posterior: Gaussian, sample: Tensor, step: int) -> Terms:
        if inputs.partners is None or inputs.partner_factors is None:
            raise UsageError(f"objective {self.name!r} needs a stream of labelled images (partners, partner_factors)")
        mean = self.posterior(model, inputs.partners).mean
        loss = self.labelled_loss(model, mean, inputs.partner_factors)
        added = super().regulariser(model, inputs, posterior, sample, step)
        told = {**added.watched, "label_loss": loss}
        return Terms({**added.terms, "supervised": self.label_weight(step) * loss}, told)


def _reader_of(model: Autoencoder) -> nn.Module | None:
    return dict(model.named_children()).get("label_reader")


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


@register("s2-factor-vae")
@dataclass(frozen=True)
class S2FactorVAE(FewLabels, FactorVAE):  # type: ignore[misc]
    """FactorVAE that also learns the factors of a few labelled images (Locatello et al., 2020)."""

    title = "S2-FactorVAE"
    formula = f"{NLL} + {KL} + {{gamma}} · TC(z) + {{gamma_sup}} · loss of {{labels}} labelled images"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.second_batch:
            raise UsageError("second_batch needs the batch in which the labelled images come; leave it out")


@register("s2-dip-vae-i")
@dataclass(frozen=True)
class S2DIPVAEI(FewLabels, DIPVAEI):
    """DIP-VAE-I that also learns the factors of a few labelled images (Locatello et al., 2020)."""

    title = "S2-DIP-VAE-I"
    formula = "DIP-VAE-I with λ = {lambda_od}, + {gamma_sup} · loss of {labels} labelled images"


@register("s2-dip-vae-ii")
@dataclass(frozen=True)
class S2DIPVAEII(FewLabels, DIPVAEII):
    """DIP-VAE-II that also learns the factors of a few labelled images (Locatello et al., 2020)."""

    title = "S2-DIP-VAE-II"
    formula = "DIP-VAE-II with λ = {lambda_od}, + {gamma_sup} · loss of {labels} labelled images"


@register("s2-supervised")
@dataclass(frozen=True)
class S2Supervised(FewLabels):
    """The baseline that learns from the labelled images alone; a decoder looks at the codes and teaches them nothing.

    Codes are means: the head of variances gets no gradient.
    """

    title = "Labels alone"
    formula = "{gamma_sup} · loss of {labels} labelled images; −log p(x|μ) for the decoder alone"
    representations = ("mean",)

    def terms(self, model: Autoencoder, inputs: Inputs, posterior: Gaussian, sample: Tensor, step: int) -> Terms:
        return super().terms(model, inputs, posterior, posterior.mean.detach(), step)

    def penalty(self, posterior: Gaussian, sample: Tensor, step: int) -> Terms:
        return Terms({"penalty": sample.new_zeros(())})

    def describe(self, model: Autoencoder, images: Tensor, noise: torch.Generator) -> dict[str, Tensor]:
        mean = self.encode(model, images)
        return {"reconstruction": self.reconstruction(model.decoder(mean), images)}

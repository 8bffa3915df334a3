"""VAEs whose codes move sparsely from one image to the next, and the control that lets them rotate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from unbraid.errors import UsageError
from unbraid.objectives.base import Terms, register
from unbraid.objectives.checks import check_not_negative, check_positive
from unbraid.objectives.pairs import PairVAEObjective, halves
from unbraid.objectives.titles import KL, NLL
from unbraid.objectives.transition_prior import cross_entropy, gaussian_entropy

if TYPE_CHECKING:
    from torch import Tensor

    from unbraid.nets import Gaussian

__all__ = ["GaussianSlowVAE", "SlowVAE", "transition_terms"]

Variant = Literal["paper", "release"]
Expectation = Literal["mean", "sample", "exact"]


def transition_terms(
    posterior: Gaussian, sample: Tensor, *, rate: float, alpha: float = 1.0, expectation: Expectation = "mean"
) -> tuple[Tensor, Tensor]:
    """Cross-entropy to the transition prior ``[2n]`` and entropy ``[2n]`` of each stacked posterior, given the other.

    KL(q(z_t) || p(z_t|z_{t-1})) is their difference. The expectation over z_{t-1} is taken at its mean, at the drawn
    ``sample``, or exactly: z_t - z_{t-1} is normal with the sum of both variances.
    """
    given = (sample if expectation == "sample" else posterior.mean).roll(len(sample) // 2, 0)
    variance = posterior.logvar.exp()
    if expectation == "exact":
        scale = (variance + variance.roll(len(sample) // 2, 0)).sqrt()
    else:
        scale = (0.5 * posterior.logvar).exp()
    crossed = cross_entropy(posterior.mean - given, scale, rate=rate, alpha=alpha).sum(1)
    return crossed, gaussian_entropy(posterior.logvar).sum(1)


@register("slow-vae")
@dataclass(frozen=True)
class SlowVAE(PairVAEObjective):
    """VAE whose latents take sparse steps from one image of a pair to the other (Klindt et al., 2021).

    The loss of a pair is the sum of both reconstructions + beta * mean KL + gamma * mean transition KL, either image
    being the past of the other. Identifiable up to order and sign for alpha < 2, if the data move so.
    """

    title = "SlowVAE"
    formula = f"{NLL} + {{beta}} · {KL} + {{gamma}} · KL(q(zₜ|xₜ) ‖ p), p ∝ exp(−{{rate}} |zₜ − zₜ₋₁|^{{alpha}})"

    net: str = "slow"
    """Encoder and decoder by name: slow (the release's), conv (the study's), fc, mlp, or an own registered pair."""
    beta: float = 1.0
    """Weight of the KL divergence to the standard normal prior of single images."""
    gamma: float = 10.0
    """Weight of the KL divergence to the transition prior."""
    rate: float = 6.0
    """Rate lambda of the transition prior exp(-lambda |step|^alpha)."""
    alpha: float = 1.0
    """Shape of the transition prior: 1 is Laplace, smaller is sparser, 2 is normal and blind to rotations."""
    variant: Variant = "paper"
    """paper: as the equations say; release: cross-entropies of both directions added up, entropies averaged."""
    expectation: Expectation = "mean"
    """Where the other image's code is put in: its mean, a drawn sample, or the exact expectation."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "beta", "gamma")
        check_positive(self, "rate", "alpha")
        if self.alpha > 2:
            raise UsageError(f"alpha must lie in (0, 2], got {self.alpha}")
        for field, choices in (("variant", ("paper", "release")), ("expectation", ("mean", "sample", "exact"))):
            if getattr(self, field) not in choices:
                raise UsageError(f"{field} must be one of {', '.join(choices)}, got {getattr(self, field)!r}")

    def penalty(self, posterior: Gaussian, sample: Tensor, step: int) -> Terms:
        first, second = halves(posterior)
        crossed, entropy = (
            each.mean()
            for each in transition_terms(
                posterior, sample, rate=self.rate, alpha=self.alpha, expectation=self.expectation
            )
        )
        transition = (2 if self.variant == "release" else 1) * crossed - entropy
        return Terms(
            {"penalty": self.beta * posterior.kl().mean() + self.gamma * transition},
            {
                "transition": transition,
                "cross_entropy": crossed,
                "entropy": entropy,
                "movement": (first.mean - second.mean).abs().mean(),
            },
        )


@register("gaussian-slow-vae")
@dataclass(frozen=True)
class GaussianSlowVAE(SlowVAE):
    """The control of slow-vae: normal steps of fixed variance 1 / (2 rate), which say nothing about rotations."""

    title = "SlowVAE with normal steps"
    formula = SlowVAE.formula

    alpha: float = 2.0
    """Shape of the transition prior: 2 is the normal distribution."""

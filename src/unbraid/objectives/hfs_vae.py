"""VAEs whose codes fill the product of their supports (Roth et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.objectives.autoencoder import VAEObjective
from unbraid.objectives.base import register
from unbraid.objectives.beta_tcvae import BetaTCVAE
from unbraid.objectives.checks import check_count, check_not_negative
from unbraid.objectives.titles import KL, NLL
from unbraid.objectives.vae import BetaVAE

if TYPE_CHECKING:
    from unbraid.objectives.penalties import Penalty

__all__ = ["HFSTCVAE", "HFSVAE", "FactorisedSupport"]


@dataclass(frozen=True)
class FactorisedSupport(VAEObjective):
    """Mix-in for a VAE method: the penalty ``hfs`` as a part of it. Put it first."""

    sweep = ("gamma", (0.1, 1, 10, 100, 1000, 10000))

    gamma: float = 1.0
    """Weight of the squared Hausdorff distance between the code's support and the product of its latents' supports."""
    pairs: int = 25
    """Pairs of latents that a step looks at, drawn by chance; the distance is their sum."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "gamma")
        check_count(self, "pairs")

    def own_penalties(self) -> tuple[Penalty, ...]:
        from unbraid.objectives.penalties.hfs import HausdorffSupport

        return (HausdorffSupport(weight=self.gamma, pairs=self.pairs),)


@register("hfs-vae")
@dataclass(frozen=True)
class HFSVAE(FactorisedSupport, BetaVAE):  # type: ignore[misc]
    """beta-VAE that pays for corners of its latents' supports that no code is near (Roth et al., 2023)."""

    title = "β-VAE + HFS"
    formula = f"{NLL} + {{beta}} · {KL} + {{gamma}} · factorised support of {{pairs}} pairs of latents"

    beta: float = 1.0
    """Weight of the KL divergence to the prior; 0 leaves the support alone to shape the code."""


@register("hfs-tcvae")
@dataclass(frozen=True)
class HFSTCVAE(FactorisedSupport, BetaTCVAE):  # type: ignore[misc]
    """beta-TCVAE that pays for corners of its latents' supports that no code is near (Roth et al., 2023)."""

    title = "β-TCVAE + HFS"
    formula = f"{NLL} + {KL} + ({{beta}} − 1) · TC(z) + {{gamma}} · factorised support of {{pairs}} pairs of latents"

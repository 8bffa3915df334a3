"""Tripod (Hsu, Hamid, Burns, Finn & Wu, 2024): three biases that need each other, with estimators that see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.objectives.base import register
from unbraid.objectives.checks import check_not_negative
from unbraid.objectives.quantised import FSQ

if TYPE_CHECKING:
    from unbraid.objectives.penalties import Penalty

__all__ = ["Tripod"]


@register("tripod")
@dataclass(frozen=True)
class Tripod(FSQ):
    """Rounded latents that know little of each other and act on the image one by one (Hsu et al., 2024).

    ``fsq`` with the penalties ``klm`` and ``nhp`` (on the decoder's inner layers). Weights are published beside a
    reconstruction averaged over pixels, here for Shapes3D; those of other data sets are up to six orders of magnitude
    apart. The released estimators are repaired: ``klm`` could not see a latent that copies another one, ``nhp`` was far
    above its bound.
    """

    title = "Tripod"
    formula = (
        "−log p(x|q) + pixels · ({klm} · kernel information + {nhp} · normalised Hessian penalty), "
        "q = tanh f(x) rounded to {values} values"
    )

    klm: float = 1e-4
    """Weight of what latents know of each other."""
    nhp: float = 1e-2
    """Weight of the share of curvature that is of latents together."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "klm", "nhp")

    def own_penalties(self) -> tuple[Penalty, ...]:
        from unbraid.objectives.penalties.klm import KernelInformation
        from unbraid.objectives.penalties.nhp import NormalisedHessianPenalty

        return (
            KernelInformation(weight=self.klm, scale="mean"),
            NormalisedHessianPenalty(weight=self.nhp, scale="mean", stages="inner"),
        )

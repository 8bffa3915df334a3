"""The normalised Hessian penalty (Hsu, Hamid, Burns, Finn & Wu, 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from unbraid.errors import unknown_name
from unbraid.objectives.penalties._differences import StagedPenalty, normal, second_differences, signs
from unbraid.objectives.penalties.base import View, register

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["NormalisedHessianPenalty", "mixed_share"]

TINY = 1e-10
"""Added to the whole curvature: outputs that do not bend have no share."""


def mixed_share(mixed: Tensor, whole: Tensor, *, pooled: bool = True) -> Tensor:
    """Mixed by whole curvature, both ``[n, ...]``: the quotient of their means over images and outputs.

    Not pooled, the mean of quotients: with few directions that of two noisy numbers is far too large, above 1 even.
    """
    return mixed.mean() / (whole.mean() + TINY) if pooled else (mixed / (whole + TINY)).mean()


@register("nhp")
@dataclass(frozen=True)
class NormalisedHessianPenalty(StagedPenalty):
    """What share of the decoder's curvature is of latents together: 0 where each acts alone (Hsu et al., 2024).

    sum_{i != j} H_ij^2 / sum_ij H_ij^2, estimated by the variance of second differences over random signs and over
    normal directions. Unlike ``hessian`` and ``orojar`` it cannot be met by a decoder that answers less. Costs 4k + 1
    passes of the decoder.
    """

    title = "normalised Hessian penalty"

    pool: Literal["batch", "sample"] = "batch"
    """Where the quotient is taken: of means over images and outputs, or for each output of each image as in the
    release, which is far too large (1.9 where the truth is 0.75)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pool not in ("batch", "sample"):
            raise unknown_name("pool", self.pool, ("batch", "sample"))

    def __call__(self, view: View, noise: torch.Generator) -> Tensor:
        import torch

        codes, outputs = view.codes.sample, self.outputs(view)
        units = self.units(codes)
        directions = torch.cat([signs(self.k, codes, noise), normal(self.k, codes, noise)]) * units
        bends = second_differences(outputs, codes, directions, self.eps)
        pooled = self.pool == "batch"
        parts = [mixed_share(found[: self.k].var(0), found[self.k :].var(0), pooled=pooled) for found in bends]
        return sum(parts[1:], parts[0])

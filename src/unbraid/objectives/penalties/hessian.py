"""The Hessian penalty (Peebles et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.objectives.penalties._differences import Outputs, ReducedPenalty, StagedPenalty, second_differences, signs
from unbraid.objectives.penalties.base import View, register

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["HessianPenalty", "mixed_curvature"]


def mixed_curvature(outputs: Outputs, codes: Tensor, directions: Tensor, eps: float) -> list[Tensor]:
    """Variance over directions ``[k, n, d]`` of the second difference along them, ``[n, ...]`` for each output.

    Of random signs its expectation is 2 sum_{i != j} H_ij^2, of normal directions 2 sum_ij H_ij^2.
    """
    return [found.var(0) for found in second_differences(outputs, codes, directions, eps)]


@register("hessian")
@dataclass(frozen=True)
class HessianPenalty(StagedPenalty, ReducedPenalty):
    """What latents do together to the image: the off-diagonal of the decoder's Hessian (Peebles et al., 2020).

    Variance over random signs v of [f(z + eps v) - 2 f(z) + f(z - eps v)] / eps^2, on average 2 sum_{i != j} H_ij^2.
    It also falls where the decoder merely answers less; ``nhp`` does not. Costs 2k + 1 passes of the decoder.
    """

    title = "Hessian penalty"

    def __call__(self, view: View, noise: torch.Generator) -> Tensor:
        codes = view.codes.sample
        directions = signs(self.k, codes, noise) * self.units(codes)
        found = mixed_curvature(self.outputs(view), codes, directions, self.eps)
        parts = [self.reduced(values) for values in found]
        return sum(parts[1:], parts[0])

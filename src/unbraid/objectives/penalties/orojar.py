"""Orthogonal Jacobian regularisation (Wei et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from unbraid.errors import unknown_name
from unbraid.objectives.penalties._differences import SteppingPenalty, signs
from unbraid.objectives.penalties.base import View, register

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch
    from torch import Tensor

__all__ = ["OrthogonalJacobian", "column_products"]


def column_products(decode: Callable[[Tensor], Tensor], codes: Tensor, directions: Tensor, eps: float) -> Tensor:
    """Variance over directions ``[k, n, d]`` of the squared length of ``[f(z + eps v) - f(z)] / eps``, ``[n]``.

    Of random signs and a straight f its expectation is 2 sum_{i != j} (J'J)_ij^2; where f bends, O(eps) more.
    """
    import torch

    here = decode(codes)
    steps = [(decode(codes + eps * v) - here).flatten(1) / eps for v in directions]
    return torch.stack([step.square().sum(1) for step in steps]).var(0)


@register("orojar")
@dataclass(frozen=True)
class OrthogonalJacobian(SteppingPenalty):
    """How far what latents do to the image is from being orthogonal (Wei et al., 2021).

    Variance over random signs v of |f(z + eps v) - f(z)|^2 / eps^2, in expectation 2 sum_{i != j} (J'J)_ij^2, J the
    decoder's Jacobian. Lengths are sums over pixels, so the value grows with the square of their number. It also falls
    where the decoder merely answers less. Costs k + 1 passes of the decoder.
    """

    title = "orthogonal Jacobian"

    reduction: Literal["mean", "max"] = "mean"
    """Over images: their mean, or the largest, as one of the two releases has it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reduction not in ("mean", "max"):
            raise unknown_name("reduction", self.reduction, ("mean", "max"))

    def __call__(self, view: View, noise: torch.Generator) -> Tensor:
        codes = view.codes.sample
        found = column_products(view.decode, codes, signs(self.k, codes, noise) * self.units(codes), self.eps)
        return found.amax() if self.reduction == "max" else found.mean()

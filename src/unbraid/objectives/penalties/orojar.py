"""Orthogonal Jacobian regularisation (Wei et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.objectives.penalties._differences import ReducedPenalty, signs
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
class OrthogonalJacobian(ReducedPenalty):
    """How far what latents do to the image is from being orthogonal (Wei et al., 2021).

    Variance over random signs v of |f(z + eps v) - f(z)|^2 / eps^2, in expectation 2 sum_{i != j} (J'J)_ij^2, J the
    decoder's Jacobian. Lengths are sums over pixels, so the value grows with the square of their number. It also falls
    where the decoder merely answers less. Costs k + 1 passes of the decoder.
    """

    title = "orthogonal Jacobian"

    def __call__(self, view: View, noise: torch.Generator) -> Tensor:
        codes = view.codes.sample
        directions = signs(self.k, codes, noise) * self.units(codes)
        return self.reduced(column_products(view.decode, codes, directions, self.eps))

"""Independent mechanism analysis (Gresele et al., 2021)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.objectives.checks import check_positive
from unbraid.objectives.penalties._differences import spread
from unbraid.objectives.penalties.base import Penalty, View, register

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from unbraid.objectives.autoencoder import AutoencoderObjective
    from unbraid.problem import Problem

__all__ = ["IndependentMechanisms", "column_contrast", "columns"]

MOST = 12
"""Latents: each takes two passes of the decoder."""


def columns(decode: Callable[[Tensor], Tensor], codes: Tensor, units: Tensor, eps: float) -> Tensor:
    """The decoder's Jacobian ``[n, outputs, d]`` by central differences of ``eps * units``, per unit."""
    import torch

    steps = torch.diag(eps * units)
    sides = [(decode(codes + step), decode(codes - step)) for step in steps]
    return torch.stack([(up - down).flatten(1) / (2 * eps) for up, down in sides], dim=2)


def column_contrast(jacobian: Tensor) -> Tensor:
    """``sum_k log |J_k| - 1/2 log det J'J`` of Jacobians ``[n, outputs, d]``: ``[n]``, 0 iff columns are orthogonal.

    It is -1/2 log det of the columns' cosines, so their lengths do not count; a column of zeros is orthogonal to all.
    """
    import torch

    # In single precision the determinant of nearly parallel columns would be rounding.
    exact = jacobian.double()
    unit = exact / exact.norm(dim=1, keepdim=True).clamp_min(1e-12)
    cosines = unit.transpose(1, 2) @ unit
    identity = torch.eye(cosines.shape[-1], dtype=cosines.dtype, device=cosines.device)
    # Parallel columns have no logarithm: their determinant of 0 becomes about 1e-6.
    cosines = cosines * (1 - identity) + (1 + 5e-7) * identity
    return -0.5 * torch.logdet(cosines).to(jacobian.dtype)


@register("ima")
@dataclass(frozen=True)
class IndependentMechanisms(Penalty):
    """What latents do to the image is to be orthogonal, whatever its size (Gresele et al., 2021).

    Mean over the batch of sum_k log |J_k| - 1/2 log det J'J, J the decoder's Jacobian by central differences. Rescaling
    latents changes nothing, nor does a decoder that answers less. Costs two passes of the decoder for each latent, so
    there may be 12 at most.
    """

    title = "IMA contrast"

    eps: float = 0.01
    """Half the width of a difference, in standard deviations of each latent over the batch."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "eps")

    def build(self, objective: AutoencoderObjective, problem: Problem) -> nn.Module | None:
        if objective.latents > MOST:
            raise UsageError(
                f"penalty {self.name!r} takes the whole Jacobian, of {MOST} latents at most, got {objective.latents}; "
                "orojar looks at any number of them by random directions"
            )
        return None

    def __call__(self, view: View, noise: torch.Generator) -> Tensor:
        codes = view.codes.sample
        return column_contrast(columns(view.decode, codes, spread(codes).detach(), self.eps)).mean()

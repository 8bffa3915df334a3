"""Biological constraints on a code (Whittington, Dorrell, Ganguli & Behrens, 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.objectives.checks import check_not_negative
from unbraid.objectives.penalties.base import Penalty, View, register

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["Bio", "biological"]


def biological(codes: Tensor, energy: float) -> Tensor:
    """Mean of how far codes are below zero, plus ``energy`` times their mean square."""
    return (-codes).clamp_min(0).mean() + energy * codes.square().mean()


@register("bio")
@dataclass(frozen=True)
class Bio(Penalty):
    """Codes that are not negative and use little energy, as firing rates do (Whittington et al., 2023).

    mean max(-z, 0) + energy * mean z^2. The paper also pays for the weights of the networks, which is the option
    ``weight_decay`` of objectives that have it.
    """

    title = "non-negativity and energy"

    energy: float = 0.01
    """Weight of the mean square beside the non-negativity."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "energy")

    def __call__(self, view: View, noise: torch.Generator) -> Tensor:
        return biological(view.codes.mean, self.energy)

"""Multiplicative normal noise (Rusak et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.objectives.augment.base import Augmentation, clipped, register
from unbraid.objectives.augment.sigmas import check_sigmas, drawn_sigmas

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["Speckle"]


@register("speckle")
@dataclass(frozen=True)
class Speckle(Augmentation):
    """Normal noise in proportion to each pixel, clipped to [0, 1]; what is black stays black (Rusak et al., 2020)."""

    sigmas: tuple[float, ...] = (0.15, 0.2, 0.35, 0.45, 0.6)
    """Standard deviations of the noise on a white pixel; each image has one of them by chance."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.sigmas:
            raise UsageError("sigmas must hold at least one standard deviation, as in 0.15+0.35, got none")
        check_sigmas(self.sigmas, "sigmas")

    def __call__(self, images: Tensor, noise: torch.Generator) -> Tensor:
        import torch

        sigma = drawn_sigmas(self.sigmas, images, noise)
        drawn = torch.randn(images.shape, generator=noise, device=images.device, dtype=images.dtype)
        return clipped(images + images * (sigma * drawn))

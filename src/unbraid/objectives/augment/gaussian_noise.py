"""Additive normal noise (Rusak et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.objectives.augment.base import Augmentation, register

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["GaussianNoise"]


@register("gaussian-noise")
@dataclass(frozen=True)
class GaussianNoise(Augmentation):
    """Normal noise of one standard deviation on every pixel and channel, clipped to [0, 1] (Rusak et al., 2020).

    Vectors, which have no range of their own, are not clipped.
    """

    sigma: float = 0.5
    """Standard deviation of the noise, in units of the images' range; 0.5 was best for corruptions never seen."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.sigma < float("inf"):
            raise UsageError(f"sigma must be a number that is not negative, got {self.sigma}; 0 adds no noise")

    def __call__(self, images: Tensor, noise: torch.Generator) -> Tensor:
        import torch

        drawn = torch.randn(images.shape, generator=noise, device=images.device, dtype=images.dtype)
        noisy = images + self.sigma * drawn
        return noisy.clamp(0, 1) if images.ndim == 4 else noisy

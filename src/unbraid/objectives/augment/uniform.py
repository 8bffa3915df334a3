"""Additive uniform noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.objectives.augment.base import Augmentation, clipped, register
from unbraid.objectives.augment.sigmas import check_sigmas, drawn_sigmas

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["Uniform"]


@register("uniform")
@dataclass(frozen=True)
class Uniform(Augmentation):
    """Uniform noise around zero on every pixel and channel, clipped to [0, 1]."""

    sigma: float = 0.5
    """Standard deviation of the noise, to compare it with normal noise: values reach sqrt(3) times as far."""
    sigmas: tuple[float, ...] = ()
    """Several of them, as in 0.08+0.12+0.18: each image has one by chance, and sigma does not count."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sigmas([self.sigma])
        check_sigmas(self.sigmas, "sigmas")

    def __call__(self, images: Tensor, noise: torch.Generator) -> Tensor:
        import torch

        sigma = drawn_sigmas(self.sigmas or (self.sigma,), images, noise)
        drawn = torch.rand(images.shape, generator=noise, device=images.device, dtype=images.dtype)
        return clipped(images + sigma * (3**0.5 * (2 * drawn - 1)))

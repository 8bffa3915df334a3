"""Images are blurred."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.objectives.augment.base import Augmentation, need_pictures, register

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["Blur"]


@register("blur")
@dataclass(frozen=True)
class Blur(Augmentation):
    """Every pixel becomes a mean of those around it, with normal weights of a width by chance for each image.

    Weights reach three widths of the widest blur and add up to 1; beyond an edge its pixels are repeated.
    """

    sigma: float = 1.5
    """Largest width of the blur in pixels; that of an image is uniform between 0 and this."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.sigma < math.inf:
            raise UsageError(f"sigma must be a number that is not negative, got {self.sigma}; 0 changes nothing")

    def __call__(self, images: Tensor, noise: torch.Generator) -> Tensor:
        import torch
        from torch.nn.functional import pad

        n, _, height, width = need_pictures(self, images).shape
        reach = math.ceil(3 * self.sigma)
        steps = torch.arange(-reach, reach + 1, device=images.device, dtype=images.dtype)
        sigmas = self.sigma * torch.rand(n, generator=noise, device=images.device, dtype=images.dtype)
        weights = torch.exp(-0.5 * (steps / sigmas.clamp_min(1e-3)[:, None]).square())  # [n, 2 reach + 1]
        weights = (weights / weights.sum(1, keepdim=True))[:, :, None, None, None]
        # Sums of shifted images, since a convolution would round to bfloat16 in training: first down, then across.
        padded = pad(images, (reach,) * 4, mode="replicate")
        taps = range(2 * reach + 1)
        rows = torch.stack([weights[:, k] * padded[:, :, k : k + height] for k in taps]).sum(0)
        blurred = torch.stack([weights[:, k] * rows[..., k : k + width] for k in taps]).sum(0)
        return blurred.clamp(0, 1)  # rounding alone could lead out of it

"""Images are slanted about their middle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.objectives.augment.base import Augmentation, need_pictures, register

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["Shear"]


@register("shear")
@dataclass(frozen=True)
class Shear(Augmentation):
    """Rows are moved in proportion to their height above the middle, by an angle uniform in both directions.

    The middle row stays where it is: nothing is shifted as a whole, so that a place can still be read off. Pixels are
    interpolated between their two neighbours in the row; what comes in from outside is black.
    """

    degrees: float = 10.0
    """Largest angle by which vertical lines are slanted, below 90."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.degrees < 90:
            raise UsageError(f"degrees must lie between 0 and 90, got {self.degrees}; 0 changes nothing")

    def __call__(self, images: Tensor, noise: torch.Generator) -> Tensor:
        import torch

        n, channels, height, width = need_pictures(self, images).shape
        angle = math.radians(self.degrees) * (2 * torch.rand(n, generator=noise, device=images.device) - 1)
        rows, columns = (torch.arange(size, device=images.device, dtype=torch.float32) for size in (height, width))
        # Where each pixel comes from, in its row: [n, height, width].
        source = columns + (torch.tan(angle)[:, None] * (rows - (height - 1) / 2))[:, :, None]
        left = source.floor()
        share = source - left
        padded = torch.nn.functional.pad(images, (1, 1))  # one black column on either side
        pixels = [
            padded.gather(3, (left + step + 1).clamp(0, width + 1).long()[:, None].expand(n, channels, height, width))
            for step in (0, 1)
        ]
        share = share[:, None].to(images.dtype)
        return (1 - share) * pixels[0] + share * pixels[1]

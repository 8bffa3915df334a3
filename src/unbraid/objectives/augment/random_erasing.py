"""A rectangle of every image is lost (Zhong et al., 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.objectives.augment.base import Augmentation, need_pictures, register

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["RandomErasing"]


@register("random-erasing")
@dataclass(frozen=True)
class RandomErasing(Augmentation):
    """A rectangle at a random place is filled with one grey value by chance (Zhong et al., 2020).

    Its part of the image is uniform between ``least`` and ``most``, the logarithm of height over width uniform between
    -log ``ratio`` and log ``ratio``; sides are cut to the image's.
    """

    least: float = 0.02
    """Smallest part of the image that is lost."""
    most: float = 0.2
    """Largest part of the image that is lost."""
    ratio: float = 3.0
    """Largest height over width, and width over height, of what is lost."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.least <= self.most <= 1:
            raise UsageError(
                f"least and most must be parts of an image, 0 <= least <= most <= 1, got {self.least} and {self.most}"
            )
        if not 1 <= self.ratio < math.inf:
            raise UsageError(f"ratio must be at least 1, got {self.ratio}")

    def __call__(self, images: Tensor, noise: torch.Generator) -> Tensor:
        import torch

        n, _, height, width = need_pictures(self, images).shape
        part, tall, down, across, grey = torch.rand(5, n, generator=noise, device=images.device)
        area = (self.least + (self.most - self.least) * part) * height * width
        side = torch.exp((2 * tall - 1) * math.log(self.ratio) / 2)
        high = (area.sqrt() * side).round().clamp(max=height)
        wide = (area.sqrt() / side).round().clamp(max=width)
        top, left = (down * (height - high + 1)).floor(), (across * (width - wide + 1)).floor()
        rows, columns = (torch.arange(size, device=images.device) for size in (height, width))
        inside = _between(rows, top, high)[:, :, None] & _between(columns, left, wide)[:, None, :]
        return torch.where(inside[:, None], grey[:, None, None, None].to(images.dtype), images)


def _between(places: Tensor, begin: Tensor, length: Tensor) -> Tensor:
    """Whether each place is one of ``length`` ones from ``begin`` on, ``[n, places]``."""
    found: Tensor = (places >= begin[:, None]) & (places < (begin + length)[:, None])
    return found

"""Images whose local texture is another's: a stand-in for stylised training data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.objectives.augment.base import Augmentation, need_pictures, register

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["Stylised"]


@register("stylised")
@dataclass(frozen=True)
class Stylised(Augmentation):
    """Texture and palette are taken from another image of the batch, the shape stays: a stand-in for style transfer.

    Geirhos et al. (2019) paint photographs in the styles of paintings with a network. Here an image is smoothed, which
    takes its texture away, gets the mean and contrast of every channel from a second image, and on top the second
    image's texture, what smoothing takes away from *that*, cut into squares that are put back in another order.
    Numbers obtained with it are not those of stylised ImageNet.
    """

    title = "Stylised (stand-in)"

    window: int = 3
    """Side in pixels of the square over which an image is averaged, odd: what is finer is texture."""
    patch: int = 4
    """Side in pixels of the squares of the other image's texture."""
    strength: float = 1.0
    """What that texture is multiplied with."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window < 3 or self.window % 2 == 0:
            raise UsageError(f"window must be an odd number of pixels from 3 on, got {self.window}")
        if self.patch < 1:
            raise UsageError(f"patch must be at least 1 pixel, got {self.patch}")
        if not 0 <= self.strength < float("inf"):
            raise UsageError(f"strength must be a number that is not negative, got {self.strength}")

    def __call__(self, images: Tensor, noise: torch.Generator) -> Tensor:
        import torch

        shape = self._smoothed(need_pictures(self, images))
        # Nobody is his own model: a random order, and each takes the next one's style.
        order = torch.randperm(len(images), generator=noise, device=images.device)
        other = torch.empty_like(order)
        other[order] = order.roll(-1)
        texture = self._shuffled((images - shape)[other], noise)
        mean, spread = shape.mean((2, 3), keepdim=True), shape.std((2, 3), keepdim=True)
        repainted = (shape - mean) / spread.clamp_min(1e-3) * spread[other] + mean[other]
        return (repainted + self.strength * texture).clamp(0, 1)

    def _smoothed(self, images: Tensor) -> Tensor:
        from torch.nn.functional import avg_pool2d, pad

        edge = self.window // 2
        return avg_pool2d(pad(images, (edge,) * 4, mode="replicate"), self.window, stride=1)

    def _shuffled(self, texture: Tensor, noise: torch.Generator) -> Tensor:
        """The squares of each image in an order of its own; what is left at the right and lower edges stays."""
        import torch

        n, channels, height, width = texture.shape
        rows, columns = height // self.patch, width // self.patch
        if rows * columns < 2:
            return texture
        inside = (slice(None), slice(None), slice(0, rows * self.patch), slice(0, columns * self.patch))
        split = texture[inside].reshape(n, channels, rows, self.patch, columns, self.patch)
        squares = split.permute(0, 2, 4, 1, 3, 5).reshape(n, rows * columns, -1)
        order = torch.rand(n, rows * columns, generator=noise, device=texture.device).argsort(1)
        squares = squares.gather(1, order[:, :, None].expand_as(squares))
        joined = squares.reshape(n, rows, columns, channels, self.patch, self.patch).permute(0, 3, 1, 4, 2, 5)
        found = texture.clone()
        found[inside] = joined.reshape(n, channels, rows * self.patch, columns * self.patch)
        return found

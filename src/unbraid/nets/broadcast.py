"""A decoder that draws each patch of an image from the code and the patch's place, for small images on a CPU."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets.initialise import glorot
from unbraid.nets.layers import CodeLinear, Crop, halvings, padded_size
from unbraid.nets.light import LightEncoder, join
from unbraid.nets.registry import Shape, register

__all__ = ["BroadcastDecoder", "broadcast"]

PATCH = 4


@register("broadcast")
def broadcast(
    shape: Shape, latents: int, *, heads: int = 2, width: int = 96, layers: int = 3
) -> tuple[nn.Module, nn.Module]:
    """A spatial broadcast decoder (Watters et al., 2019) of patches, after the encoder of ``light``.

    The published one copies the code to every pixel, puts the pixel's coordinates beside it and convolves. Here each
    patch of 4x4 pixels is drawn by itself, by ``layers`` of ``width`` ReLU units that all patches share, from the code
    and the coordinates of the patch, from -1 to 1. Where something is takes one sum of code and place, so that
    positions get latents of their own early; and all is matrix products, which is fast on a CPU.
    """
    if width < 1 or layers < 1:
        raise UsageError(f"width and layers must be at least 1, got {width} and {layers}")
    return LightEncoder(shape, heads * latents, heads), BroadcastDecoder(shape, latents, width, layers)


class BroadcastDecoder(nn.Module):
    """Codes ``[n, latents]`` to logits ``[n, c, h, w]``: every patch from the code and its own place."""

    places: Tensor

    def __init__(self, shape: Shape, latents: int, width: int = 96, layers: int = 3) -> None:
        super().__init__()
        halvings(shape)  # refuses what is no image, or too small or large for the encoder
        height, across = padded_size(shape)
        self.grid = (height // PATCH, across // PATCH)
        rows, columns = (torch.linspace(-1, 1, size) for size in self.grid)
        self.register_buffer("places", torch.cartesian_prod(rows, columns), persistent=False)  # [patches, 2]
        self.code = CodeLinear(latents, width)
        self.place = nn.Linear(2, width, bias=False)
        self.hidden = nn.ModuleList(nn.Linear(width, width) for _ in range(layers - 1))
        self.pixels = nn.Linear(width, PATCH * PATCH * shape[2])
        self.crop = Crop(shape)
        glorot(self)

    def forward(self, codes: Tensor) -> Tensor:
        units = F.relu(self.code(codes)[:, None] + self.place(self.places))  # [n, patches, width]
        for layer in self.hidden:
            units = F.relu(layer(units))
        image = join(self.pixels(units).unflatten(1, self.grid), PATCH)
        return self.crop(image.permute(0, 3, 1, 2))

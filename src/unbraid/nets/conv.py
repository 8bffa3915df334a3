"""The convolutional encoder and decoder of the disentanglement study."""

import math
from itertools import pairwise

import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.nets.initialise import glorot
from unbraid.nets.layers import CodeLinear, Conv, Convs, Crop, Deconv, Pad, channels_of, grid_of
from unbraid.nets.registry import Shape, register

__all__ = ["ConvDecoder", "ConvEncoder", "conv"]


@register("conv")
def conv(shape: Shape, latents: int, *, heads: int = 2) -> tuple[nn.Module, nn.Module]:
    """The networks of Locatello et al. (2019), Glorot-uniform weights and zero biases.

    64x64 images give exactly the study's layers. Other sizes change the number of halvings so that the longer side
    of the last grid has 3 or 4 cells (2 for images of 8 pixels): the first two convolutions are 4x4 with 32 channels,
    all later ones 2x2 with 64. Sizes that cannot be halved that often are padded with black
    and the decoder's output is cropped.
    """
    return ConvEncoder(shape, heads * latents, heads), ConvDecoder(shape, latents)


class ConvEncoder(nn.Module):
    """Images ``[n, c, h, w]`` to ``[n, outputs]``: stride-2 convolutions, 256 hidden units, linear heads."""

    def __init__(self, shape: Shape, outputs: int, heads: int = 1) -> None:
        super().__init__()
        widths, (height, width) = channels_of(shape), grid_of(shape)
        self.pad = Pad(shape)
        self.convs = Convs(*(Conv(a, b, 4 if i < 2 else 2) for i, (a, b) in enumerate(pairwise(widths))))
        self.hidden = nn.Linear(widths[-1] * height * width, 256)
        self.heads = CodeLinear(256, outputs)
        glorot(self, heads=heads, last=self.heads)

    def forward(self, images: Tensor) -> Tensor:
        return self.heads(F.relu(self.hidden(self.convs(self.pad(images)).flatten(1))))


class ConvDecoder(nn.Module):
    """Codes ``[n, latents]`` to logits ``[n, c, h, w]``: two linear layers, then 4x4 transposed convolutions."""

    def __init__(self, shape: Shape, latents: int) -> None:
        super().__init__()
        widths = channels_of(shape)[::-1]
        self.grid = (widths[0], *grid_of(shape))
        self.hidden = CodeLinear(latents, 256)
        self.expand = nn.Linear(256, math.prod(self.grid))
        self.deconvs = nn.Sequential(
            *(Deconv(a, b, relu=i < len(widths) - 2) for i, (a, b) in enumerate(pairwise(widths)))
        )
        self.crop = Crop(shape)
        glorot(self)

    def forward(self, codes: Tensor) -> Tensor:
        grid = F.relu(self.expand(F.relu(self.hidden(codes)))).unflatten(1, self.grid)
        return self.crop(self.deconvs(grid))

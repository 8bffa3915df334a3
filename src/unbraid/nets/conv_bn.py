"""The convolutional encoder and decoder with batch normalisation that the rPU-VAE was trained with."""

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

from unbraid.nets.layers import BatchNorm, CodeLinear, Conv, Crop, Deconv, Pad, channels_of, grid_of
from unbraid.nets.registry import Shape, register

__all__ = ["conv_bn"]

HIDDEN = 512


@register("conv-bn")
def conv_bn(shape: Shape, latents: int, *, heads: int = 2) -> tuple[nn.Module, nn.Module]:
    """The networks of Estermann, Marks & Yanik (2020): 4x4 convolutions, batch normalisation after each but the last.

    torch's default initial weights. With two heads the last layer of the encoder gives a mean and a log standard
    deviation, which is doubled here to the log variance that objectives read. In training every image is
    normalised by its batch, which therefore needs at least two; a trained run uses the running averages, so a code
    depends on its own image alone. Image sizes other than 64x64 are treated as in ``conv``.
    """
    widths, (height, width) = channels_of(shape), grid_of(shape)
    pairs = list(pairwise(widths))
    encoder = nn.Sequential(
        Pad(shape),
        *_normalised(*((Conv(a, b, 4, relu=False), b) for a, b in pairs)),
        *_normalised((nn.Conv2d(widths[-1], HIDDEN, (height, width)), HIDDEN)),
        nn.Flatten(),
        CodeLinear(HIDDEN, heads * latents),  # on a grid of one cell the same as a 1x1 convolution
    )
    if heads == 2:
        encoder.append(_DoubleLogDeviation())
    decoder = nn.Sequential(
        _like_deconv(CodeLinear(latents, HIDDEN)),
        nn.Unflatten(1, (HIDDEN, 1, 1)),
        BatchNorm(HIDDEN),
        nn.ReLU(),
        *_normalised((nn.ConvTranspose2d(HIDDEN, widths[-1], (height, width)), widths[-1])),
        *_normalised(*((Deconv(b, a, relu=False), a) for a, b in pairs[:0:-1])),
        Deconv(widths[1], widths[0], relu=False),
        Crop(shape),
    )
    return encoder, decoder


def _normalised(*layers: tuple[nn.Module, int]) -> list[nn.Module]:
    """Each layer, given with its number of channels, followed by batch normalisation and ReLU."""
    return [part for layer, channels in layers for part in (layer, BatchNorm(channels), nn.ReLU())]


def _like_deconv(layer: nn.Linear) -> nn.Linear:
    """Initial weights of a 1x1 transposed convolution, whose fan-in torch counts over its outputs."""
    bound = 1 / math.sqrt(layer.out_features)
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, -bound, bound)
    return layer


class _DoubleLogDeviation(nn.Module):
    """Means and log standard deviations ``[n, 2 d]`` to means and log variances."""

    def forward(self, outputs: Tensor) -> Tensor:
        mean, log_deviation = outputs.chunk(2, dim=-1)
        return torch.cat([mean, 2 * log_deviation], dim=-1)

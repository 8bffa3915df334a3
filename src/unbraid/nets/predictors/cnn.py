"""The small convolutional predictor of the generalisation benchmark."""

from itertools import pairwise

from torch import nn

from unbraid.errors import UsageError
from unbraid.nets.layers import CodeLinear, Conv, LastConv, Pad, Whole, channels_of, grid_of
from unbraid.nets.predictors.registry import register

__all__ = ["cnn"]


DEPTH = 6
"""Layers with weights of the published network, for 64x64 images."""


@register("cnn")
def cnn(shape: tuple[int, ...], outputs: int, *, width: int = 32, depth: int = 6) -> nn.Module:
    """The CNN of Schott et al. (2022): 4x4 convolutions that halve the image, one as large as what is left, a linear.

    ``width`` channels twice, twice as many after, and eight times as many in the last hidden layer. 64x64 images
    give exactly the published layers, with torch's default initial weights; other sizes change the number of
    halvings and are padded with black, as the encoder ``conv`` does. ``depth`` counts the layers with weights at
    64x64; beyond 6 come 3x3 convolutions that keep the size, after the last halving.
    """
    if len(shape) != 3:
        raise UsageError(f"predictor 'cnn' takes images (height, width, channels), got shape {shape}; try 'mlp'")
    if width < 1:
        raise UsageError(f"width must be at least 1, got {width}")
    if depth < DEPTH:
        raise UsageError(f"depth must be at least {DEPTH}, the published number of layers, got {depth}")
    height, across, channels = shape
    image = (height, across, channels)
    # The encoders' channels are 32 twice, then 64.
    widths = [channels, *(width * many // 32 for many in channels_of(image)[1:])]
    return nn.Sequential(
        Pad(image),
        *(Conv(a, b, 4) for a, b in pairwise(widths)),
        *(part for _ in range(depth - DEPTH) for part in _same(widths[-1])),
        Whole(widths[-1], 8 * width, grid_of(image)),
        nn.ReLU(),
        nn.Flatten(),
        CodeLinear(8 * width, outputs),
    )


def _same(channels: int) -> tuple[nn.Module, nn.Module]:
    """A layer that keeps size and channels."""
    return LastConv(channels, channels, 3, padding=1), nn.ReLU()

"""The small convolutional predictor of the generalisation benchmark."""

from itertools import pairwise

from torch import nn

from unbraid.errors import UsageError
from unbraid.nets.layers import CodeLinear, Conv, Pad, Whole, channels_of, grid_of
from unbraid.nets.predictors.registry import register

__all__ = ["cnn"]


@register("cnn")
def cnn(shape: tuple[int, ...], outputs: int, *, width: int = 32) -> nn.Module:
    """The CNN of Schott et al. (2022): 4x4 convolutions that halve the image, one as large as what is left, a linear.

    ``width`` channels twice, twice as many after, and eight times as many in the last hidden layer. 64x64 images
    give exactly the published layers, with torch's default initial weights; other sizes change the number of
    halvings and are padded with black, as the encoder ``conv`` does.
    """
    if len(shape) != 3:
        raise UsageError(f"predictor 'cnn' takes images (height, width, channels), got shape {shape}; try 'mlp'")
    if width < 1:
        raise UsageError(f"width must be at least 1, got {width}")
    height, across, channels = shape
    image = (height, across, channels)
    # The encoders' channels are 32 twice, then 64.
    widths = [channels, *(width * many // 32 for many in channels_of(image)[1:])]
    return nn.Sequential(
        Pad(image),
        *(Conv(a, b, 4) for a, b in pairwise(widths)),
        Whole(widths[-1], 8 * width, grid_of(image)),
        nn.ReLU(),
        nn.Flatten(),
        CodeLinear(8 * width, outputs),
    )

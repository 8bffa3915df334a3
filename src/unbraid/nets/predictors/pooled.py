"""Two convolutions with max-pooling and two linear layers: the networks of robustness studies on digits."""

import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets import _pooling, stride2
from unbraid.nets.layers import CodeLinear, LastConv
from unbraid.nets.predictors.registry import register

__all__ = ["PooledConv", "madry", "small_cnn"]


class PooledConv(LastConv):
    """A 5x5 convolution that keeps the size, ReLU, and the largest of each 2x2 block."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, 5, padding=2)

    def forward(self, x: Tensor) -> Tensor:
        if stride2.use_fast_kernels(x) and self.bias is not None and _pooling.can_pool(x, self.weight):
            return _pooling.conv_pool(x, self.weight, self.bias)
        return F.relu(F.max_pool2d(super().forward(x), 2))  # the same in either order, on a quarter of the numbers


@register("madry")
def madry(shape: tuple[int, ...], outputs: int, *, width: int = 32, hidden: int = 1024) -> nn.Module:
    """The network of Madry et al. (2018): 5x5 convolutions to ``width`` and twice as many channels, ``hidden`` units.

    Each convolution keeps the size and is followed by ReLU and 2x2 max-pooling. 28x28 images in one channel and 10
    classes give exactly the published layers, 3,274,634 parameters, with torch's default initial weights.
    """
    return _pooled("madry", shape, outputs, width, hidden)


@register("small-cnn")
def small_cnn(shape: tuple[int, ...], outputs: int, *, width: int = 16, hidden: int = 128) -> nn.Module:
    """A small relative of ``madry``: 5x5 convolutions to 16 and 32 channels, 128 hidden units."""
    return _pooled("small-cnn", shape, outputs, width, hidden)


def _pooled(name: str, shape: tuple[int, ...], outputs: int, width: int, hidden: int) -> nn.Module:
    if len(shape) != 3:
        raise UsageError(f"predictor {name!r} takes images (height, width, channels), got shape {shape}; try 'mlp'")
    height, across, channels = shape
    if min(height, across) < 4:
        raise UsageError(f"predictor {name!r} halves images twice and takes 4 pixels a side or more, got {shape}")
    if min(width, hidden) < 1:
        raise UsageError(f"width and hidden must be at least 1, got {width} and {hidden}")
    return nn.Sequential(
        PooledConv(channels, width),
        PooledConv(width, 2 * width),
        nn.Flatten(),
        nn.Linear(2 * width * (height // 4) * (across // 4), hidden),
        nn.ReLU(),
        CodeLinear(hidden, outputs),
    )

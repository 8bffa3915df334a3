"""Convolutions without padding, batch norm, ELU: what analysis by synthesis is compared with (Schott et al., 2019)."""

from collections.abc import Sequence

from torch import nn

from unbraid.errors import UsageError
from unbraid.nets.predictors.registry import register

__all__ = ["abs_cnn", "substitute"]

FITS = 4
"""Sides that are a multiple of this lose no pixel to the strides; 12 is the smallest."""


@register("abs-cnn")
def abs_cnn(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """The CNN of Schott et al. (2019): kernels 5, 4, 3, 5 and channels 20, 70, 256; 249,228 parameters for MNIST."""
    return _unpadded("abs-cnn", shape, (20, 70, 256), outputs)


@register("substitute")
def substitute(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """The same with channels 32, 32, 64, for attacks that are found on one network and tried on another."""
    return _unpadded("substitute", shape, (32, 32, 64), outputs)


def _unpadded(name: str, shape: tuple[int, ...], widths: Sequence[int], outputs: int) -> nn.Module:
    if len(shape) != 3:
        raise UsageError(f"predictor {name!r} takes images (height, width, channels), got shape {shape}; try 'mlp'")
    height, width, channels = shape
    more = [max(3 * FITS, -(-side // FITS) * FITS) - side for side in (height, width)]
    left = [(side + extra) // FITS - 2 for side, extra in zip((height, width), more, strict=True)]
    layers: list[nn.Module] = [nn.ZeroPad2d((0, more[1], 0, more[0]))] if any(more) else []
    for wide, kernel, stride in zip(widths, (5, 4, 3), (1, 2, 2), strict=True):
        layers += [nn.Conv2d(channels, wide, kernel, stride), nn.BatchNorm2d(wide), nn.ELU()]
        channels = wide
    return nn.Sequential(*layers, nn.Conv2d(channels, outputs, (left[0], left[1])), nn.Flatten())

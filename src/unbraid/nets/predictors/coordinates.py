"""Predictors that are told where a pixel is: CoordConv, and a set of pixels with their places."""

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets.layers import CodeLinear, LastConv
from unbraid.nets.predictors.registry import build_inner, register

__all__ = ["Places", "SetEncoder", "coordconv", "set_encoder"]


class Places(nn.Module):
    """Two more channels: where each pixel is, down and across, from ``low`` at one edge to ``high`` at the other."""

    def __init__(self, low: float, high: float) -> None:
        super().__init__()
        self.low, self.high = low, high

    def forward(self, images: Tensor) -> Tensor:
        count, _, height, width = images.shape
        down = torch.linspace(self.low, self.high, height, dtype=images.dtype, device=images.device)
        across = torch.linspace(self.low, self.high, width, dtype=images.dtype, device=images.device)
        places = torch.stack(torch.meshgrid(down, across, indexing="ij"))
        return torch.cat([images, places.expand(count, -1, -1, -1)], dim=1)


class SetEncoder(nn.Module):
    """An image as a set of (place, value): the same small network for every pixel, its mean, another network."""

    def __init__(self, channels: int, outputs: int) -> None:
        super().__init__()
        self.places = Places(0.0, 1.0)
        self.pixel = nn.Sequential(
            nn.Linear(2 + channels, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 20), nn.ReLU()
        )
        self.head = nn.Sequential(nn.Linear(20, 20), nn.ReLU(), nn.Linear(20, 20), nn.ReLU(), CodeLinear(20, outputs))

    def forward(self, images: Tensor) -> Tensor:
        return self.of_pixels(self.places(images).flatten(2).transpose(1, 2))

    def of_pixels(self, pixels: Tensor) -> Tensor:
        """From ``[n, pixels, channels + 2]``; the order of pixels does not matter."""
        return self.head(self.pixel(pixels).mean(dim=1))


@register("set-encoder")
def set_encoder(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """The "coordinate based" model of Schott et al. (2022): a network per pixel and place, then their mean."""
    return SetEncoder(need_image("set-encoder", shape)[2], outputs)


@register("coordconv")
def coordconv(shape: tuple[int, ...], outputs: int, *, net: str = "") -> nn.Module:
    """The CoordConv of Schott et al. (2022), after Liu et al. (2018): the first convolution sees the pixels' places.

    The paper leaves kernels, strides and one width open. Here: 3x3 convolutions, four that halve the image at 16
    channels, one to 32, the maximum over the image, and two linear layers. Or another predictor, ``net=small-cnn``,
    that sees two channels more.
    """
    height, width, channels = need_image("coordconv", shape)
    if net:
        return nn.Sequential(Places(-1.0, 1.0), build_inner(net, (height, width, channels + 2), outputs))
    halving = [part for _ in range(4) for part in (nn.ReLU(inplace=True), LastConv(16, 16, 3, stride=2, padding=1))]
    return nn.Sequential(
        Places(-1.0, 1.0),
        LastConv(channels + 2, 16, 3, padding=1),
        *halving,
        nn.ReLU(inplace=True),
        LastConv(16, 32, 3, padding=1),
        nn.AdaptiveMaxPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 32),
        nn.ReLU(),
        CodeLinear(32, outputs),
    )


def need_image(name: str, shape: tuple[int, ...], least: int = 1) -> tuple[int, int, int]:
    """The shape as height, width and channels, or an error that names the predictor."""
    if len(shape) != 3:
        raise UsageError(f"predictor {name!r} takes images (height, width, channels), got shape {shape}; try 'mlp'")
    height, width, channels = shape
    if min(height, width) < least:
        raise UsageError(f"predictor {name!r} takes images of at least {least}x{least}, got {height}x{width}")
    return height, width, channels

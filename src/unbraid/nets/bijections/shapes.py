"""Bijections that move numbers about: squeeze, factor out, and reading out which numbers come first."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from unbraid.errors import UsageError
from unbraid.nets.bijections.bijection import Bijection, no_volume

__all__ = ["FactorOut", "ReadOut", "Squeeze"]


class Squeeze(Bijection):
    """(c, h, w) -> (4c, h/2, w/2): the four pixels of each 2x2 block become channels (Dinh et al., 2017)."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if x.ndim != 4 or x.shape[2] % 2 or x.shape[3] % 2:
            raise UsageError(
                f"squeezing takes images [n, c, h, w] of even height and width, got {list(x.shape)}; pad them, or "
                "squeeze less often"
            )
        return F.pixel_unshuffle(x, 2), no_volume(x)

    def undo(self, z: Tensor) -> Tensor:
        return F.pixel_shuffle(z, 2)


class FactorOut(Bijection):
    """Emits the second half of the channels as it is and hands the first half on to ``rest`` (Dinh et al., 2017).

    ``shape`` is that of the input, (c, h, w). The output is flat: what ``rest``, whose outputs must be flat too, made
    of the first half, then the emitted half.
    """

    def __init__(self, rest: Bijection, shape: tuple[int, int, int]) -> None:
        super().__init__()
        channels, *grid = shape
        if channels < 2:
            raise UsageError(f"factoring out takes half of the channels and needs at least 2, got {channels}")
        self.rest, self.keep = rest, channels // 2
        self.emitted_shape = (channels - self.keep, *grid)
        self.emitted = math.prod(self.emitted_shape)
        """How many numbers leave here."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        kept, log_det = self.rest(x[:, : self.keep])
        return torch.cat([kept, x[:, self.keep :].flatten(1)], 1), log_det

    def undo(self, z: Tensor) -> Tensor:
        cut = z.shape[1] - self.emitted
        return torch.cat([self.rest.undo(z[:, :cut]), z[:, cut:].unflatten(1, self.emitted_shape)], 1)


class ReadOut(Bijection):
    """A feature map (c, h, w) as a flat vector that begins with all channels of one position.

    Then come the other positions, row by row. Logits are the first numbers: those of channels 0, 1, ... at the
    position, and of the next position once its channels are used up.
    """

    order: Tensor
    back: Tensor

    def __init__(self, shape: tuple[int, int, int], position: tuple[int, int] = (0, 0)) -> None:
        super().__init__()
        channels, height, width = shape
        row, column = position
        if not (0 <= row < height and 0 <= column < width):
            raise UsageError(f"position {position} lies outside of the {height}x{width} map that is read out")
        places = torch.arange(channels * height * width).view(channels, height * width)
        first = row * width + column
        others = [place for place in range(height * width) if place != first]
        order = torch.cat([places[:, place] for place in (first, *others)])
        self.shape = shape
        self.register_buffer("order", order, persistent=False)
        self.register_buffer("back", order.argsort(), persistent=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x.flatten(1)[:, self.order], no_volume(x)

    def undo(self, z: Tensor) -> Tensor:
        return z[:, self.back].unflatten(1, self.shape)

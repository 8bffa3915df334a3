"""Bijections that move numbers about: squeeze, factor out, and reading out which numbers come first."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unbraid.errors import UsageError
from unbraid.nets.bijections.bijection import Bijection, full_precision, no_volume

__all__ = ["FactorOut", "ReadOut", "Squeeze"]

LARGEST = 3.0
"""Of a conditional log deviation: unbounded ones overflow on the way back."""


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
        self.given: nn.Conv2d | None = None

    def condition(self) -> None:
        """Emit the second half relative to what the first says of it: by a mean and a scale for each number.

        Standard normal numbers there are a conditional normal density of the half as it was: log N(e; m, s) =
        log N((e - m) / s; 0, 1) - log s. A 3x3 convolution, at first zero, gives m and log s, which is kept within 3.
        """
        self.given = nn.Conv2d(self.keep, 2 * self.emitted_shape[0], 3, padding=1)
        nn.init.zeros_(self.given.weight)
        nn.init.zeros_(self.given.bias)  # type: ignore[arg-type]

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        first, second = x[:, : self.keep], x[:, self.keep :]
        kept, log_det = self.rest(first)
        if self.given is not None:
            mean, log_std = self._told(first)
            second, log_det = (second - mean) * (-log_std).exp(), log_det - log_std.flatten(1).sum(1)
        return torch.cat([kept, second.flatten(1)], 1), log_det

    def undo(self, z: Tensor) -> Tensor:
        cut = z.shape[1] - self.emitted
        first, second = self.rest.undo(z[:, :cut]), z[:, cut:].unflatten(1, self.emitted_shape)
        if self.given is not None:
            mean, log_std = self._told(first)
            second = second * log_std.exp() + mean
        return torch.cat([first, second], 1)

    def _told(self, first: Tensor) -> tuple[Tensor, Tensor]:
        assert self.given is not None
        with full_precision(first):
            mean, raw = self.given(first).chunk(2, 1)
            return mean, LARGEST * torch.tanh(raw / LARGEST)


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

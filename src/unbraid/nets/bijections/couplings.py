"""Couplings: one half of the channels is moved by what any network reads off the other half."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError, unknown_name
from unbraid.nets.bijections.bijection import Bijection, no_volume

__all__ = ["SCALES", "AdditiveCoupling", "AffineCoupling", "SwapCoupling"]

SCALES = ("tanh", "sigmoid")


class SwapCoupling(Bijection):
    """(x1, x2) -> (x2, x1 + F(x2)), the block of reversible residual networks (Gomez et al., 2017); keeps volume.

    ``net`` maps the second part, what comes after the first ``cut`` channels, to the shape of the first. Where the
    parts differ in size, the next block's cut is that of the other part.
    """

    def __init__(self, net: nn.Module, cut: int) -> None:
        super().__init__()
        self.net, self.cut = net, _checked(cut)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        first, second = x[:, : self.cut], x[:, self.cut :]
        return torch.cat([second, first + _like(self.net(second), first)], 1), no_volume(x)

    def undo(self, z: Tensor) -> Tensor:
        second, moved = z[:, : z.shape[1] - self.cut], z[:, z.shape[1] - self.cut :]
        return torch.cat([moved - _like(self.net(second), moved), second], 1)


class AdditiveCoupling(Bijection):
    """y1 = x1, y2 = x2 + F(x1) (NICE: Dinh et al., 2015); keeps volume. ``cut`` channels are read, the others moved."""

    def __init__(self, net: nn.Module, cut: int) -> None:
        super().__init__()
        self.net, self.cut = net, _checked(cut)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        read, moved = x[:, : self.cut], x[:, self.cut :]
        return torch.cat([read, moved + _like(self.net(read), moved)], 1), no_volume(x)

    def undo(self, z: Tensor) -> Tensor:
        read, moved = z[:, : self.cut], z[:, self.cut :]
        return torch.cat([read, moved - _like(self.net(read), moved)], 1)


class AffineCoupling(Bijection):
    """y1 = x1, y2 = (x2 + t(x1)) s(x1) (Dinh et al., 2017); ``net`` gives t and the raw s, twice what is moved.

    ``scale`` is how s comes from raw numbers r: ``tanh``, s = exp(0.5 tanh r) between 0.61 and 1.65, or ``sigmoid``,
    s = sigmoid(r + 2) as in Glow. The latter comes arbitrarily close to 0, and its inverse then overflows: trained on
    digits, 99 of 100 of its metamers were no numbers.
    """

    def __init__(self, net: nn.Module, cut: int, *, scale: Literal["tanh", "sigmoid"] = "tanh") -> None:
        super().__init__()
        if scale not in SCALES:
            raise unknown_name("scale", scale, SCALES)
        self.net, self.cut, self.scale = net, _checked(cut), scale

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        read, moved = x[:, : self.cut], x[:, self.cut :]
        shift, log_scale = self._shift_and_log_scale(read, moved)
        return torch.cat([read, (moved + shift) * log_scale.exp()], 1), log_scale.flatten(1).sum(1)

    def undo(self, z: Tensor) -> Tensor:
        read, moved = z[:, : self.cut], z[:, self.cut :]
        shift, log_scale = self._shift_and_log_scale(read, moved)
        return torch.cat([read, moved * (-log_scale).exp() - shift], 1)

    def _shift_and_log_scale(self, read: Tensor, moved: Tensor) -> tuple[Tensor, Tensor]:
        given = self.net(read).to(read.dtype)
        shift, raw = given.chunk(2, 1)
        _like(shift, moved)
        if self.scale == "tanh":
            return shift, 0.5 * torch.tanh(raw)
        return shift, nn.functional.logsigmoid(raw + 2)


def _checked(cut: int) -> int:
    if cut < 1:
        raise UsageError(f"cut, the channels of the first part, must be at least 1, got {cut}")
    return cut


def _like(given: Tensor, part: Tensor) -> Tensor:
    """What a network gave, in the precision of the part it moves; broadcasting it would hide a wrong shape."""
    if given.shape != part.shape:
        raise UsageError(
            f"the network of a coupling must give what fits the other part, {list(part.shape)}, got {list(given.shape)}"
        )
    return given.to(part.dtype)

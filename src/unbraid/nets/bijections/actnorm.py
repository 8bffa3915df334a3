"""Scale and shift per channel that begin at what the first batch needs."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets.bijections.bijection import SameEverywhere

__all__ = ["ActNorm"]

SMALLEST = 1e-6
"""A channel that never changes is not scaled beyond the inverse of this."""


class ActNorm(SameEverywhere):
    """y = (x + b) exp(a) per channel (Kingma & Dhariwal, 2018).

    The first batch in training sets b and a, so that every channel has mean 0 and standard deviation 1. Until then
    there is no map to speak of: to be used without training, call :meth:`initialise` first.
    """

    initialised: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(channels))
        self.log_scale = nn.Parameter(torch.zeros(channels))
        self.register_buffer("initialised", torch.tensor(False))

    def move(self, x: Tensor) -> Tensor:
        if self.training and not self.initialised:
            self.initialise(x)
        self._check()
        return (x + _over(self.shift, x)) * _over(self.log_scale.exp(), x)

    @staticmethod
    def log_dets(layers: Sequence[ActNorm]) -> Tensor:
        return torch.cat([layer.log_scale for layer in layers]).sum()

    def undo(self, z: Tensor) -> Tensor:
        self._check()
        return z * _over((-self.log_scale).exp(), z) - _over(self.shift, z)

    @torch.no_grad()
    def initialise(self, x: Tensor) -> None:
        """Set shift and scale so that each channel of this batch comes out with mean 0 and standard deviation 1."""
        values = x.transpose(0, 1).flatten(1)
        if values.shape[1] < 2:
            raise UsageError(
                "actnorm begins at the spread of its first batch, which a single vector has not; "
                "batch_size must be at least 2, got 1"
            )
        self.shift.copy_(-values.mean(1))
        self.log_scale.copy_(-values.std(1, correction=0).clamp_min(SMALLEST).log())
        self.initialised.fill_(True)

    def _check(self) -> None:
        if not self.initialised:
            raise UsageError(
                "this actnorm was never initialised: train the network, give it one batch in training mode, or call "
                "initialise(x)"
            )


def _over(values: Tensor, x: Tensor) -> Tensor:
    """One value per channel, in the shape that goes with x."""
    return values.view(-1, *[1] * (x.ndim - 2)).to(x.dtype)

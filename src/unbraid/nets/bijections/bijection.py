"""What a bijection is: ``forward(x) -> (z, log_det)``, ``inverse(z) -> x``; and several of them one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError

__all__ = ["Bijection", "Chain", "SameEverywhere", "depends_on_the_batch", "full_precision", "no_volume", "pixels"]


class Bijection(nn.Module):
    """A one-to-one map with its exact way back.

    ``forward(x)`` gives ``(z, log_det)``, where ``log_det``, ``[n]``, is log abs det of the Jacobian of each sample.
    A subclass defines ``forward`` and ``undo``; users call ``inverse``, which first looks whether the way back exists.
    """

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        raise NotImplementedError(f"{type(self).__name__} does not define forward(x) -> (z, log_det)")

    def undo(self, z: Tensor) -> Tensor:
        """The way back, in whatever mode the module is in."""
        raise NotImplementedError(f"{type(self).__name__} does not define undo(z) -> x")

    def inverse(self, z: Tensor) -> Tensor:
        """The x that is mapped to z."""
        if layer := depends_on_the_batch(self):
            raise UsageError(
                f"cannot invert in training mode: {layer} makes the output depend on the rest of the batch or on "
                "chance; call .eval() first"
            )
        return self.undo(z)


class SameEverywhere(Bijection):
    """A bijection of the channels of every position whose volume does not depend on the input.

    A subclass defines ``move``, ``undo`` and ``log_dets``: chains of many of them compute all determinants at once.
    """

    def move(self, x: Tensor) -> Tensor:
        """z without its log determinant."""
        raise NotImplementedError(f"{type(self).__name__} does not define move(x) -> z")

    @staticmethod
    def log_dets(layers: Sequence[Any]) -> Tensor:
        """Sum over layers of this kind of log abs det at one position."""
        raise NotImplementedError("a layer that moves channels defines log_dets(layers)")

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z = self.move(x)
        return z, (pixels(x) * self.log_dets([self])).expand(len(x))


class Chain(Bijection):
    """Bijections one after the other; their log determinants add up.

    With ``low_memory`` the backward pass computes activations again from the outputs instead of keeping them: one
    activation is stored however many layers there are, for twice the work (Gomez et al., 2017).
    """

    def __init__(self, layers: Iterable[Bijection], *, low_memory: bool = False) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.low_memory = low_memory

    def __iter__(self) -> Iterator[Bijection]:
        return (layer for layer in self.layers if isinstance(layer, Bijection))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if self.low_memory and torch.is_grad_enabled() and len(self.layers):
            from unbraid.nets.bijections.low_memory import run_again

            return run_again(self, x)
        total = no_volume(x)
        alike: dict[tuple[type[SameEverywhere], int], list[SameEverywhere]] = {}
        for layer in self:
            if isinstance(layer, SameEverywhere):
                alike.setdefault((type(layer), pixels(x)), []).append(layer)
                x = layer.move(x)
            else:
                x, log_det = layer(x)
                total = total + log_det
        for (kind, places), layers in alike.items():
            total = total + places * kind.log_dets(layers)
        return x, total

    def undo(self, z: Tensor) -> Tensor:
        for layer in reversed(list(self)):
            z = layer.undo(z)
        return z


def depends_on_the_batch(module: nn.Module) -> str:
    """The first layer whose outputs depend on other samples or on chance in the mode it is in; empty if none does."""
    for name, layer in module.named_modules():
        normalises = isinstance(layer, nn.modules.batchnorm._BatchNorm) and (
            layer.training or layer.running_mean is None
        )
        drops = isinstance(layer, nn.modules.dropout._DropoutNd) and layer.training and layer.p > 0
        if normalises or drops:
            return f"{name or 'it'} ({type(layer).__name__})"
    return ""


def no_volume(x: Tensor) -> Tensor:
    """The log determinant of what keeps volume: zeros ``[n]``."""
    return x.new_zeros(len(x))


def pixels(x: Tensor) -> int:
    """How many positions share the parameters of a channel: 1 for vectors ``[n, d]``."""
    return x[0, 0].numel()


@contextmanager
def full_precision(x: Tensor) -> Iterator[None]:
    """Out of reach of mixed precision: rounded outputs would have neither this determinant nor this inverse."""
    with torch.autocast(x.device.type, enabled=False):
        yield

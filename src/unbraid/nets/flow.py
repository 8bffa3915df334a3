"""Invertible networks. Every layer gives ``(z, log_det)``: what comes out and log abs det of the Jacobian, ``[n]``."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets.initialise import seeded
from unbraid.problem import Problem

__all__ = ["Coupling", "Flow", "FlowCodes", "FlowModel", "InvertibleLinear", "coupling_flow"]


class InvertibleLinear(nn.Module):
    """z = W x with a trained square matrix, the unit matrix at first."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(size))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        # Out of reach of mixed precision: rounded codes would no longer have the determinant that is reported.
        with torch.autocast(x.device.type, enabled=False):
            return x.to(self.weight.dtype) @ self.weight.T, self._log_det(x)

    def inverse(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """The x whose image is z, and the log determinant of the way back."""
        return torch.linalg.solve(self.weight, z.T).T, -self._log_det(z)

    def _log_det(self, x: Tensor) -> Tensor:
        return torch.linalg.slogdet(self.weight)[1].expand(len(x))


class Coupling(nn.Module):
    """One part of x is scaled and shifted by what a small network reads off the other part.

    The log scales sum to zero, so that volume is kept (GIN: Sorrenson et al., 2020). ``flip`` swaps the parts. The
    network's last layer starts at zero: an untrained layer is the identity.
    """

    def __init__(self, size: int, *, width: int = 500, flip: bool = False) -> None:
        super().__init__()
        if size < 2:
            raise UsageError(f"a coupling layer needs at least two numbers to couple, got {size}")
        self.flip, self.cut = flip, size // 2
        read, moved = (size - self.cut, self.cut) if flip else (self.cut, size - self.cut)
        last = nn.Linear(width, 2 * moved)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.net = nn.Sequential(nn.Linear(read, width), nn.ReLU(), last)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        read, moved = self._parts(x)
        log_scale, shift = self._scale_and_shift(read)
        return self._join(read, moved * log_scale.exp() + shift), x.new_zeros(len(x))

    def inverse(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """The x whose image is z, and the log determinant of the way back."""
        read, moved = self._parts(z)
        log_scale, shift = self._scale_and_shift(read)
        return self._join(read, (moved - shift) * (-log_scale).exp()), z.new_zeros(len(z))

    def _parts(self, x: Tensor) -> tuple[Tensor, Tensor]:
        first, second = x[:, : self.cut], x[:, self.cut :]
        return (second, first) if self.flip else (first, second)

    def _join(self, read: Tensor, moved: Tensor) -> Tensor:
        return torch.cat([moved, read] if self.flip else [read, moved], 1)

    def _scale_and_shift(self, read: Tensor) -> tuple[Tensor, Tensor]:
        log_scale, shift = self.net(read).to(read.dtype).chunk(2, 1)
        log_scale = 2 * torch.tanh(0.5 * log_scale)  # far outside the data a scale must not explode
        return log_scale - log_scale.mean(1, keepdim=True), shift


class Flow(nn.Module):
    """Layers one after the other; their log determinants add up."""

    def __init__(self, layers: Iterable[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        total = x.new_zeros(len(x))
        for layer in self.layers:
            x, log_det = layer(x)
            total = total + log_det
        return x, total

    def inverse(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """The x whose image is z, and the log determinant of the way back."""
        total = z.new_zeros(len(z))
        for layer in reversed(self.layers):
            z, log_det = layer.inverse(z)  # type: ignore[operator]
            total = total + log_det
        return z, total


class FlowCodes(nn.Module):
    """A flow as an encoder: the codes of images as vectors, without their determinants."""

    def __init__(self, flow: Flow) -> None:
        super().__init__()
        self.flow = flow

    def forward(self, x: Tensor) -> Tensor:
        return self.flow(x.flatten(1))[0]


class FlowModel(nn.Module):
    """A flow of images as vectors, and the problem it was made for."""

    def __init__(self, flow: Flow, problem: Problem) -> None:
        super().__init__()
        self.flow, self.problem = flow, problem


def coupling_flow(size: int, *, blocks: int = 6, width: int = 500, generator: torch.Generator | None = None) -> Flow:
    """Volume-preserving coupling layers, by turns on either part, between two matrices that carry the volume.

    The last matrix can turn the latents into place in one go, for which coupling layers would need many.
    """
    if blocks < 1 or width < 1:
        raise UsageError(f"blocks and width must be at least 1, got {blocks} and {width}")
    with seeded(generator):
        couplings = [Coupling(size, width=width, flip=bool(block % 2)) for block in range(blocks)]
    return Flow([InvertibleLinear(size), *couplings, InvertibleLinear(size)])

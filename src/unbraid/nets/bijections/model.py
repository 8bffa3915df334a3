"""A bijective classifier of images as data sets have them: padded, dequantised, brought to [-1, 1], and back."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unbraid.nets.bijections.firevnet import FiRevNet
from unbraid.nets.bijections.prior import DiagonalNormal, bits_per_dimension
from unbraid.nets.bijections.registry import build_bijection, unit_of
from unbraid.problem import Problem

__all__ = ["AUTO", "BijectiveModel", "Grid", "build_model"]

AUTO = "auto"
"""Instead of a network's name: conv for images, fc for vectors."""


class Grid(nn.Module):
    """The way between images ``[n, c, h, w]`` in [0, 1] and what a bijection sees; vectors pass as they are.

    Bytes become x = 2 (byte + u) / 256 - 1 with u uniform in [0, 1) where there is ``noise`` and 0.5 where there is
    none. Sides that are no multiples of ``unit`` get black margins first, which then count as pixels like any other.
    """

    def __init__(self, shape: tuple[int, ...], unit: int = 1) -> None:
        super().__init__()
        self.images = len(shape) == 3
        self.margins = (0, 0, 0, 0)
        self.padded: tuple[int, ...] = tuple(shape)
        """Height, width, channels after padding; the length of vectors."""
        if self.images:
            height, width, channels = shape
            high, wide = (-(-side // unit) * unit for side in (height, width))
            top, left = (high - height) // 2, (wide - width) // 2
            self.margins = (left, wide - width - left, top, high - height - top)
            self.padded = (high, wide, channels)

    @property
    def cell(self) -> float:
        """The distance of neighbouring values: 1/128 for bytes; vectors are taken as continuous, 1."""
        return 1 / 128 if self.images else 1.0

    def forward(self, images: Tensor, noise: torch.Generator | None = None) -> Tensor:
        if not self.images:
            return images
        bytes_ = 255 * (F.pad(images, self.margins) if any(self.margins) else images)
        shape, device = bytes_.shape, bytes_.device
        within = 0.5 if noise is None else torch.rand(shape, generator=noise, device=device, dtype=bytes_.dtype)
        return (bytes_ + within) / 128 - 1

    def back(self, x: Tensor) -> Tensor:
        """Images in [0, 1] where x shows any; margins are cut off, values outside of the range are kept."""
        if not self.images:
            return x
        left, right, top, bottom = self.margins
        inner = x[..., top : x.shape[-2] - bottom, left : x.shape[-1] - right]
        return (128 * (inner + 1) - 0.5) / 255


class BijectiveModel(nn.Module):
    """A bijective classifier, the grid it sees, the density of its outputs, and the problem it was made for."""

    def __init__(self, net: FiRevNet, grid: Grid, problem: Problem) -> None:
        super().__init__()
        self.net, self.grid, self.problem = net, grid, problem
        self.prior = DiagonalNormal(net.size)

    def outputs(self, images: Tensor, noise: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Outputs ``[n, d]`` and log determinants ``[n]`` of images; ``noise`` dequantises them."""
        return self.net(self.grid(images, noise))

    def bits(self, z: Tensor, log_det: Tensor) -> Tensor:
        """Bits per dimension ``[n]`` of inputs, all outputs counted."""
        return bits_per_dimension(self.prior.log_prob(z) + log_det, self.net.size, width=self.grid.cell)


def build_model(name: str, problem: Problem, classes: int, generator: torch.Generator | None = None) -> BijectiveModel:
    """The model for a problem: a bijection by name, or ``auto``, for images padded to a size that it takes."""
    name = ("fc" if len(problem.shape) == 1 else "conv") if name == AUTO else name
    grid = Grid(problem.shape, unit_of(name))
    return BijectiveModel(build_bijection(name, grid.padded, classes, generator=generator), grid, problem)

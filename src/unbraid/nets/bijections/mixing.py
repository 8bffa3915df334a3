"""Invertible mixing of channels: a trained matrix, or a fixed permutation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unbraid.errors import UsageError, unknown_name
from unbraid.nets.bijections.bijection import Bijection, SameEverywhere, full_precision, no_volume

__all__ = ["KINDS", "InvertibleConv", "Permutation"]

KINDS = ("slogdet", "plu")


class InvertibleConv(SameEverywhere):
    """y = W x at every position, W at first a random rotation (Kingma & Dhariwal, 2018).

    ``kind`` is how W is kept: ``slogdet``, the plain matrix, whose determinant is computed, or ``plu``,
    W = P L (U + diag s) with a fixed permutation P, whose determinant is the product of s; s keeps its signs.
    """

    signs: Tensor
    order: Tensor

    def __init__(self, channels: int, *, kind: Literal["slogdet", "plu"] = "slogdet") -> None:
        super().__init__()
        if kind not in KINDS:
            raise unknown_name("kind of invertible convolution", kind, KINDS)
        self.kind = kind
        rotation = nn.init.orthogonal_(torch.empty(channels, channels, dtype=torch.float64))
        if kind == "slogdet":
            self.weight = nn.Parameter(rotation.float())
            return
        order, lower, upper = torch.linalg.lu(rotation)
        diagonal = upper.diagonal()
        self.register_buffer("order", order.float())
        self.register_buffer("signs", diagonal.sign().float())
        self.lower = nn.Parameter(lower.tril(-1).float())
        self.upper = nn.Parameter(upper.triu(1).float())
        self.log_sizes = nn.Parameter(diagonal.abs().log().float())

    def matrix(self) -> Tensor:
        """W, ``[channels, channels]``."""
        if self.kind == "slogdet":
            return self.weight
        unit = torch.eye(len(self.signs), dtype=self.lower.dtype, device=self.lower.device)
        lower = self.lower.tril(-1) + unit
        upper = self.upper.triu(1) + torch.diag(self.signs * self.log_sizes.exp())
        return self.order @ lower @ upper

    @staticmethod
    def log_dets(layers: Sequence[InvertibleConv]) -> Tensor:
        alike: dict[int, list[Tensor]] = {}
        sizes = [layer.log_sizes for layer in layers if layer.kind == "plu"]
        for layer in layers:
            if layer.kind == "slogdet":
                alike.setdefault(len(layer.weight), []).append(layer.weight)
        parts = [torch.linalg.slogdet(torch.stack(matrices))[1].sum() for matrices in alike.values()]
        return torch.stack(parts + [each.sum() for each in sizes]).sum()

    def move(self, x: Tensor) -> Tensor:
        with full_precision(x):
            return _apply(self.matrix(), x)

    def undo(self, z: Tensor) -> Tensor:
        with full_precision(z):
            inverse = torch.linalg.inv(self.matrix().double())  # cheap, and worth digits in float32
            return _apply(inverse, z)


class Permutation(Bijection):
    """Channels in another, fixed order: ``reverse``, ``shuffle`` (drawn once), or any list of positions."""

    order: Tensor
    back: Tensor

    def __init__(self, channels: int, order: Literal["reverse", "shuffle"] | list[int] = "reverse") -> None:
        super().__init__()
        if order == "reverse":
            places = torch.arange(channels).flip(0)
        elif order == "shuffle":
            places = torch.randperm(channels)
        else:
            places = torch.as_tensor(order)
        if places.sort().values.tolist() != list(range(channels)):
            raise UsageError(f"order must name each of {channels} channels once, got {places.tolist()}")
        self.register_buffer("order", places)
        self.register_buffer("back", places.argsort())

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x[:, self.order], no_volume(x)

    def undo(self, z: Tensor) -> Tensor:
        return z[:, self.back]


def _apply(matrix: Tensor, x: Tensor) -> Tensor:
    weights = matrix.to(x.dtype)
    if x.ndim == 2:
        return F.linear(x, weights)
    if x.device.type != "cpu":
        return F.conv2d(x, weights[:, :, None, None])
    # One product of all positions: torch's convolutions of few channels leave most of a CPU's lanes empty.
    channels = x.transpose(0, 1)
    return (weights @ channels.reshape(len(channels), -1)).view(-1, *channels.shape[1:]).transpose(0, 1)

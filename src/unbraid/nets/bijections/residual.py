"""The networks inside couplings: they need not be invertible."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError, unknown_name
from unbraid.nets import stride2
from unbraid.nets.bijections import _residual
from unbraid.nets.layers import BatchNorm

__all__ = ["NORMS", "conv_residual", "fc_residual"]

NORMS = ("batch", "none")
SHARE = 1.5
"""Where nine planes of each channel are more than so many times the width, they are more work than a convolution."""


def fc_residual(inputs: int, outputs: int, *, width: int = 128, depth: int = 2, zero: bool = True) -> nn.Sequential:
    """``depth`` hidden layers of ``width`` units with ReLU; ``zero`` lets the last layer begin at zero."""
    if width < 1 or depth < 1:
        raise UsageError(f"width and depth must be at least 1, got {width} and {depth}")
    layers: list[nn.Module] = [nn.Linear(inputs, width), nn.ReLU()]
    for _ in range(depth - 1):
        layers += [nn.Linear(width, width), nn.ReLU()]
    last = nn.Linear(width, outputs)
    return nn.Sequential(*layers, _zeroed(last) if zero else last)


def conv_residual(
    inputs: int,
    outputs: int,
    *,
    width: int = 32,
    kernel: int = 1,
    norm: Literal["batch", "none"] = "batch",
    zero: bool = True,
) -> nn.Sequential:
    """Three times normalisation, ReLU, convolution: 3x3 to ``width``, ``kernel`` to ``width``, 3x3 to the outputs.

    The last convolution begins at zero (``zero``), so that a coupling begins as the identity (Jacobsen et al., 2019).
    """
    if width < 1:
        raise UsageError(f"width must be at least 1, got {width}")
    if norm not in NORMS:
        raise unknown_name("norm", norm, NORMS)
    if kernel not in (1, 3):
        raise UsageError(f"kernel, of the middle convolution, must be 1 or 3, got {kernel}")
    layers: list[nn.Module] = []
    for a, b, size in ((inputs, width, 3), (width, width, kernel), (width, outputs, 3)):
        conv = nn.Conv2d(a, b, size, padding=size // 2)
        layers += [*([BatchNorm(a)] if norm == "batch" else []), nn.ReLU(), conv]
    if zero:
        _zeroed(conv)
    return ConvResidual(*layers)


class ConvResidual(nn.Sequential):
    """Layers one after the other; in training on the CPU, where they are as published, as matrix products."""

    def forward(self, x: Tensor) -> Tensor:
        norms = [layer for layer in self if isinstance(layer, BatchNorm)]
        convs = [layer for layer in self if isinstance(layer, nn.Conv2d)]
        if stride2.use_fast_kernels(x) and _fits(x, norms, convs):
            return _residual.residual(x, norms, convs)
        y: Tensor = super().forward(x)
        return y


def _fits(x: Tensor, norms: list[BatchNorm], convs: list[nn.Conv2d]) -> bool:
    """Whether the layers are those that ``_residual`` computes, and few channels are moved by way of many."""
    few = 9 * max(convs[0].in_channels, convs[-1].out_channels) <= SHARE * convs[0].out_channels
    whole = len(norms) == 3 and all(norm.affine and norm.running_mean is not None and norm.momentum for norm in norms)
    plain = x.ndim == 4 and x.shape[1] == convs[0].in_channels and len(x) > 1
    known = x.dtype == convs[0].weight.dtype == torch.float32
    return few and whole and plain and known and [conv.kernel_size[0] for conv in convs] == [3, 1, 3]


def _zeroed(layer: nn.Linear | nn.Conv2d) -> nn.Module:
    nn.init.zeros_(layer.weight)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer

"""The networks inside couplings: they need not be invertible."""

from __future__ import annotations

from typing import Literal

from torch import nn

from unbraid.errors import UsageError, unknown_name
from unbraid.nets.layers import BatchNorm

__all__ = ["NORMS", "conv_residual", "fc_residual"]

NORMS = ("batch", "none")


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
    return nn.Sequential(*layers)


def _zeroed(layer: nn.Linear | nn.Conv2d) -> nn.Module:
    nn.init.zeros_(layer.weight)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer

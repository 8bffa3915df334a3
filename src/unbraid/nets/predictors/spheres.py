"""The two classifiers of the adversarial spheres (Gilmer et al., 2018)."""

from __future__ import annotations

import math
from itertools import pairwise

from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets.layers import CodeLinear
from unbraid.nets.predictors.registry import register

__all__ = ["Quadratic", "mlp_bn", "quadratic"]


class Quadratic(nn.Module):
    """w_k sum_i (W x)_i^2 + b_k: ellipsoids, of which spheres are those with all singular values of W equal."""

    def __init__(self, inputs: int, outputs: int, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, width, bias=False)
        self.last = CodeLinear(1, outputs)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.last(self.first(x.flatten(1)).square().sum(1, keepdim=True))
        return scores


@register("quadratic")
def quadratic(shape: tuple[int, ...], outputs: int, *, width: int = 1000) -> nn.Module:
    """Sum of the squares of ``width`` linear functions, scaled and shifted per output: decides by an ellipsoid."""
    if width < 1:
        raise UsageError(f"width must be at least 1, got {width}")
    return Quadratic(math.prod(shape), outputs, width)


@register("mlp-bn")
def mlp_bn(shape: tuple[int, ...], outputs: int, *, width: int = 1000, depth: int = 2) -> nn.Module:
    """``depth`` hidden layers of ``width`` units with batch normalisation and ReLU, the network for spheres."""
    if width < 1 or depth < 1:
        raise UsageError(f"width and depth must be at least 1, got {width} and {depth}")
    sizes = [math.prod(shape), *[width] * depth]
    parts = [part for a, b in pairwise(sizes) for part in (nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU())]
    return nn.Sequential(nn.Flatten(), *parts, CodeLinear(width, outputs))

"""Fully connected predictors, for small images and for vectors."""

import math
from collections.abc import Sequence
from itertools import pairwise

from torch import nn

from unbraid.errors import UsageError
from unbraid.nets.layers import CodeLinear
from unbraid.nets.predictors.registry import register

__all__ = ["mlp"]


@register("mlp")
def mlp(
    shape: tuple[int, ...],
    outputs: int,
    *,
    width: int = 256,
    depth: int = 2,
    layers: int | Sequence[int] | None = None,
) -> nn.Module:
    """``depth`` hidden layers of ``width`` units with ReLU, torch's default initial weights.

    ``layers`` lists the hidden layers instead, input first: ``mlp:layers=90+90+90+90+45+22`` is the MLP of
    Schott et al. (2022).
    """
    if width < 1 or depth < 0:
        raise UsageError(f"width must be at least 1 and depth at least 0, got {width} and {depth}")
    hidden = [width] * depth if layers is None else [layers] if isinstance(layers, int) else list(layers)
    if any(size < 1 for size in hidden):
        raise UsageError(f"hidden layers need at least one unit each, got {hidden}")
    sizes = [math.prod(shape), *hidden]
    parts = [part for a, b in pairwise(sizes) for part in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(nn.Flatten(), *parts, CodeLinear(sizes[-1], outputs))

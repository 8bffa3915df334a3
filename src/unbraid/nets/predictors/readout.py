"""Predictors that read factors off a representation."""

import math

from torch import nn

from unbraid.nets.layers import CodeLinear
from unbraid.nets.predictors.mlp import mlp
from unbraid.nets.predictors.registry import register

__all__ = ["linear", "readout"]


@register("readout")
def readout(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """The read-out of Schott et al. (2022): three hidden layers of 40 units with ReLU.

    From codes of length 10 to n factors it has 3,720 + 41 n parameters.
    """
    return mlp(shape, outputs, width=40, depth=3)


@register("linear")
def linear(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """One linear layer, torch's default initial weights."""
    return nn.Sequential(nn.Flatten(), CodeLinear(math.prod(shape), outputs))

"""Predictors by name, initialised from an explicit generator."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from unbraid.errors import UsageError
from unbraid.nets.initialise import seeded
from unbraid.options import Named, check_options
from unbraid.registry import Registry

__all__ = ["Builder", "build_inner", "build_predictor", "get", "names", "register"]

Builder = Callable[..., nn.Module]

PREDICTORS: Registry[Builder] = Registry("predictor")


def register(name: str) -> Callable[[Builder], Builder]:
    """Make a function ``(shape, outputs, **options) -> nn.Module`` known by name.

    The module maps float images ``[n, c, h, w]`` in [0, 1] (or vectors ``[n, d]``, where ``shape`` is ``(d,)``) to
    ``[n, outputs]`` without a final activation.

    >>> @register("one-layer")
    ... def one_layer(shape, outputs):
    ...     return nn.Sequential(nn.Flatten(), nn.LazyLinear(outputs))
    >>> tuple(build_predictor("one-layer", (8, 8, 1), 3)(torch.zeros(2, 1, 8, 8)).shape)
    (2, 3)
    """
    return PREDICTORS.register(name)


def names() -> list[str]:
    """All registered predictors."""
    return PREDICTORS.names()


def get(name: str) -> Builder:
    """The function registered under a name."""
    return PREDICTORS[name]


def build_predictor(
    name: str, shape: tuple[int, ...], outputs: int, *, generator: torch.Generator | None = None, **options: Any
) -> nn.Module:
    """A network from data of a shape, (height, width, channels) or (length,), to so many numbers.

    Options can be written into the name, as on the command line: ``build_predictor("cnn:width=16", ...)``. All weights
    follow from the ``generator`` alone (without one: from seed 0), as in :func:`unbraid.nets.build`.
    """
    if len(shape) not in (1, 3) or min(shape) < 1:
        raise UsageError(f"shape must be (height, width, channels) or (length,), got {shape}")
    if outputs < 1:
        raise UsageError(f"outputs must be at least 1, got {outputs}")
    with seeded(generator):
        return build_inner(name, tuple(shape), outputs, **options)


def build_inner(name: str, shape: tuple[int, ...], outputs: int, **options: Any) -> nn.Module:
    """A predictor inside another one that is being built: its weights follow from the generator of the outer one."""
    named = Named.read(name)
    builder = PREDICTORS[named.name]
    chosen = check_options(
        f"predictor {named.name!r}", builder, {**named.options, **options}, given=("shape", "outputs")
    )
    return builder(shape, outputs, **chosen)

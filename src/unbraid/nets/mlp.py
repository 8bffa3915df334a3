"""Fully connected encoders and decoders."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from torch import nn

from unbraid.errors import UsageError, unknown_name
from unbraid.nets.initialise import glorot
from unbraid.nets.layers import CodeLinear
from unbraid.nets.registry import Shape, register

__all__ = ["fc", "linear", "mlp"]

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "leaky-relu": lambda: nn.LeakyReLU(0.2),
    "elu": nn.ELU,
    "gelu": nn.GELU,
    "softplus": nn.Softplus,
}


@register("mlp")
def mlp(
    shape: Shape,
    latents: int,
    *,
    heads: int = 2,
    width: int = 256,
    depth: int = 2,
    activation: str = "relu",
    encoder: int | Sequence[int] | None = None,
    decoder: int | Sequence[int] | None = None,
    decoder_activation: str | None = None,
) -> tuple[nn.Module, nn.Module]:
    """A small network for small images: ``depth`` hidden layers of ``width`` units on each side.

    ``encoder`` and ``decoder`` list the hidden layers of one side instead, input first, as in
    ``mlp:encoder=400,decoder=500+500,decoder_activation=tanh``.
    """
    if width < 1 or depth < 0:
        raise UsageError(f"width must be at least 1 and depth at least 0, got {width} and {depth}")
    down, up = (_sizes(layers, [width] * depth) for layers in (encoder, decoder))
    pixels = math.prod(shape)
    first, last = (
        CodeLinear(latents, up[0] if up else pixels),
        CodeLinear(down[-1] if down else pixels, heads * latents),
    )
    into = [nn.Flatten(), *_hidden([pixels, *down], activation), last]
    back = [first, *_hidden([*up, pixels], decoder_activation or activation, before=True)]
    return (
        glorot(nn.Sequential(*into), heads=heads, last=last),
        glorot(nn.Sequential(*back, nn.Unflatten(1, (shape[-1], *shape[:-1])))),
    )


@register("fc")
def fc(shape: Shape, latents: int, *, heads: int = 2) -> tuple[nn.Module, nn.Module]:
    """The fully connected networks of Higgins et al. (2017): two ReLU layers of 1200 units, then three with tanh."""
    return mlp(
        shape,
        latents,
        heads=heads,
        encoder=[1200] * 2,
        decoder=[1200] * 3,
        decoder_activation="tanh",
    )


@register("linear")
def linear(shape: Shape, latents: int, *, heads: int = 2) -> tuple[nn.Module, nn.Module]:
    """One affine map each way, as in the theory of linear autoencoders."""
    return mlp(shape, latents, heads=heads, depth=0)


def _sizes(layers: int | Sequence[int] | None, default: list[int]) -> list[int]:
    if layers is None:
        return default
    sizes = [layers] if isinstance(layers, int) else list(layers)
    if any(size < 1 for size in sizes):
        raise UsageError(f"hidden layers need at least one unit each, got {sizes}")
    return sizes


def _hidden(sizes: list[int], activation: str, before: bool = False) -> list[nn.Module]:
    """Linear layers through the sizes, each followed by the activation, or preceded by it."""
    if activation not in ACTIVATIONS:
        raise unknown_name("activation", activation, ACTIVATIONS)
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        pair = [nn.Linear(inputs, outputs), ACTIVATIONS[activation]()]
        layers += pair[::-1] if before else pair
    return layers

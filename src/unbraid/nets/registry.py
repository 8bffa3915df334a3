"""Networks by name, initialised from an explicit generator."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from unbraid.errors import UsageError
from unbraid.nets.initialise import seeded
from unbraid.options import check_options, parse_name
from unbraid.registry import Registry

__all__ = ["Shape", "build", "build_inner", "get", "names", "register"]

Shape = tuple[int, ...]
"""Height, width, channels of images; the length of vectors."""

Builder = Callable[..., tuple[nn.Module, nn.Module]]

_BUILDERS: Registry[Builder] = Registry("network")


def register(name: str) -> Callable[[Builder], Builder]:
    """Make a function ``(shape, latents, *, heads=2, **options) -> (encoder, decoder)`` known by name.

    The encoder maps float images ``[n, c, h, w]`` in [0, 1] to ``[n, heads * latents]``; the decoder maps
    ``[n, latents]`` to ``[n, c, h, w]`` without a final activation.

    >>> @register("one-layer")
    ... def one_layer(shape, latents, *, heads=2):
    ...     height, width, channels = shape
    ...     encoder = nn.Sequential(nn.Flatten(), nn.Linear(height * width * channels, heads * latents))
    ...     decoder = nn.Sequential(
    ...         nn.Linear(latents, height * width * channels), nn.Unflatten(1, (channels, height, width))
    ...     )
    ...     return encoder, decoder
    >>> encoder, decoder = build("one-layer", (8, 8, 1), 3)
    >>> tuple(decoder(encoder(torch.zeros(2, 1, 8, 8))[:, :3]).shape)
    (2, 1, 8, 8)
    """
    return _BUILDERS.register(name)


def names() -> list[str]:
    """All registered names."""
    return _BUILDERS.names()


def get(name: str) -> Builder:
    """The function registered under a name."""
    return _BUILDERS[name]


def build(
    name: str, shape: Shape, latents: int, *, heads: int = 2, generator: torch.Generator | None = None, **options: Any
) -> tuple[nn.Module, nn.Module]:
    """Encoder and decoder for images of a shape (height, width, channels), or vectors of a shape (length,).

    ``heads`` is how many numbers per latent the encoder gives: 2 for the mean and log variance of a Gaussian, 1 for a
    plain code. Options of a network can be written into its name, as on the command line:
    ``build("mlp:width=64,depth=2", ...)``.

    All weights follow from the ``generator`` alone (without one: from seed 0). While the network's function runs,
    torch's CPU generator is seeded from it, so that torch's own default initialisation and ``nn.init`` calls in
    your own networks are reproducible too; afterwards it is put back as it was.
    """
    if len(shape) not in (1, 3) or min(shape) < 1:
        raise UsageError(f"shape must be (height, width, channels) or (length,), got {shape}")
    if latents < 1 or heads < 1:
        raise UsageError(f"latents and heads must be at least 1, got {latents} and {heads}")
    with seeded(generator):
        return build_inner(name, tuple(shape), latents, heads=heads, **options)


def build_inner(name: str, shape: Shape, latents: int, *, heads: int, **options: Any) -> tuple[nn.Module, nn.Module]:
    """Networks inside others that are being built: their weights follow from the generator of the outer ones."""
    name, written = parse_name(name)
    builder = _BUILDERS[name]
    options = check_options(f"network {name!r}", builder, written | options, given=("shape", "latents", "heads"))
    return builder(shape, latents, heads=heads, **options)

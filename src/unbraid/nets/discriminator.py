"""The network that tells codes of images from codes whose dimensions were shuffled."""

import torch
from torch import nn

from unbraid.errors import UsageError
from unbraid.nets.initialise import glorot, seeded
from unbraid.nets.layers import CodeLinear

__all__ = ["discriminator"]


def discriminator(
    latents: int,
    *,
    width: int = 1000,
    depth: int = 6,
    outputs: int = 2,
    slope: float = 0.2,
    generator: torch.Generator | None = None,
) -> nn.Sequential:
    """Fully connected classifier of codes ``[n, latents]`` as in Kim & Mnih (2018): ``[n, outputs]`` logits.

    Six leaky ReLU layers of 1000 units; Glorot-uniform weights and zero biases, all from the ``generator``.

    >>> sum(p.numel() for p in discriminator(10).parameters())
    5018002
    """
    for name, value in (("latents", latents), ("width", width), ("depth", depth), ("outputs", outputs)):
        if value < 1:
            raise UsageError(f"{name} must be at least 1, got {value}")
    with seeded(generator):
        layers: list[nn.Module] = [CodeLinear(latents, width), nn.LeakyReLU(slope)]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.LeakyReLU(slope)]
        network = nn.Sequential(*layers, CodeLinear(width, outputs))
        glorot(network)
    return network

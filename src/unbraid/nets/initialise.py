"""Initial weights as the published architectures have them."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

__all__ = ["glorot", "kaiming", "seeded"]


@contextmanager
def seeded(generator: torch.Generator | None) -> Iterator[None]:
    """Inside, torch's CPU generator follows from ``generator`` alone (without one: from seed 0), and is put back after.

    Layers draw their default weights from the global generator; this makes them reproducible all the same.
    """
    seed = 0
    if generator is not None:
        seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


def glorot(module: nn.Module, *, heads: int = 1, last: nn.Linear | None = None) -> nn.Module:
    """Glorot-uniform weights and zero biases in every linear and (transposed) convolution layer, in place.

    Weights are uniform in ±sqrt(6 / (fan_in + fan_out)) (Glorot & Bengio, 2010). ``last``, the layer that holds
    ``heads`` heads stacked in one matrix, is initialised as that many separate layers: the fan-out is that of one head.
    """
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
            window = math.prod(layer.weight.shape[2:])
            outputs = layer.weight.shape[0] // (heads if layer is last else 1)
            bound = math.sqrt(6 / (window * (outputs + layer.weight.shape[1])))
            with torch.no_grad():
                layer.weight.uniform_(-bound, bound)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module


def kaiming(module: nn.Module) -> nn.Module:
    """Kaiming-normal weights and zero biases in linear and convolution layers, in place (He et al., 2015).

    Transposed convolutions keep torch's default, as in the SlowVAE release.
    """
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module

"""The noise generator of adversarial noise training (Rusak et al., 2020)."""

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from unbraid.errors import UsageError
from unbraid.nets.initialise import seeded

__all__ = ["NoiseGenerator"]

WIDTH = 20
"""Channels between the layers, as published."""
INITIAL = 0.01
"""Standard deviation of the initial weights: the noise starts out as the normal one that goes in."""


class NoiseGenerator(nn.Module):
    """A small convolutional network from normal noise to other noise, with one residual connection.

    ``depth`` convolutions of ``width`` channels with ReLU between them, all 1x1 but the second one, which is ``kernel``
    wide. With 1x1 kernels noise is independent between pixels; with 3x3 it is correlated over three pixels each way.
    All weights follow from the ``generator`` alone (without one: from seed 0).

    >>> sum(weights.numel() for weights in NoiseGenerator(channels=3).parameters())
    983
    """

    def __init__(
        self,
        channels: int,
        kernel: int = 1,
        depth: int = 4,
        *,
        width: int = WIDTH,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if kernel not in (1, 3):
            raise UsageError(f"kernel must be 1 or 3, got {kernel}")
        if min(channels, depth, width) < 1:
            raise UsageError(f"channels, depth and width must be at least 1, got {channels}, {depth} and {width}")
        if kernel == 3 and depth < 2:
            raise UsageError(f"with kernel 3 it is the second layer that is 3x3: depth must be at least 2, got {depth}")
        self.channels, self.kernel, self.depth = channels, kernel, depth
        sizes = [channels, *[width] * (depth - 1), channels]
        with seeded(None):  # torch's own initial weights, which nobody will see, are not to move its generator
            self.layers = nn.ModuleList(
                nn.Conv2d(sizes[place], sizes[place + 1], kernel if place == 1 else 1) for place in range(depth)
            )
        self.reset(generator or torch.Generator().manual_seed(0))

    @torch.no_grad()
    def reset(self, generator: torch.Generator) -> None:
        """Begin anew: small normal weights, biases zero."""
        for weights in self.parameters():
            weights.normal_(0, INITIAL, generator=generator) if weights.ndim > 1 else weights.zero_()

    @property
    def margin(self) -> int:
        """How many more pixels the input has on each side than the noise."""
        return self.kernel // 2

    def forward(self, z: Tensor) -> Tensor:
        """Noise ``[n, c, h, w]`` of normal numbers ``[n, c, h + 2 margin, w + 2 margin]``."""
        x = z
        for place, layer in enumerate(self.layers):
            x = layer(x if place == 0 else F.relu(x))
        edge = self.margin
        return x + (z[..., edge:-edge, edge:-edge] if edge else z)

    def sample(
        self, shape: Sequence[int], generator: torch.Generator, weights: Mapping[str, Tensor] | None = None
    ) -> Tensor:
        """Noise of a shape ``(n, c, h, w)``, drawn anew at every call; by other ``weights`` than its own, if given."""
        if len(shape) != 4 or shape[1] != self.channels:
            raise UsageError(
                f"this generator makes noise of shape (n, {self.channels}, height, width), got {tuple(shape)}"
            )
        n, channels, height, width = shape
        edge, weight = 2 * self.margin, next(self.parameters())
        drawn = torch.randn(
            n, channels, height + edge, width + edge, generator=generator, device=weight.device, dtype=weight.dtype
        )
        noise: Tensor = self(drawn) if weights is None else functional_call(self, dict(weights), (drawn,))
        return noise

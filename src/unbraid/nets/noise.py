"""The noise generator of adversarial noise training (Rusak et al., 2020)."""

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from unbraid.errors import UsageError
from unbraid.nets import _table, stride2
from unbraid.nets.initialise import seeded

__all__ = ["NoiseGenerator"]

WIDTH = 20
"""Channels between the layers, as published."""
CELLS = {1: 2048, 3: 128}
"""Cells of the tables of generators with these kernels; the latter has nine, which are to stay in the cache."""
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
        self.channels, self.kernel, self.depth, self.width = channels, kernel, depth, width
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
        if stride2.use_fast_kernels(z) and not z.requires_grad:
            known = self.channels == 1 and self.depth >= self.kernel and z.dtype is torch.float32
            noise = (self._tabled if known else self._by_rows)(z)
        else:
            noise = z
            for place, layer in enumerate(self.layers):
                noise = layer(noise if place == 0 else F.relu(noise))
        edge = self.margin
        return noise + (z[..., edge:-edge, edge:-edge] if edge else z)

    def _tabled(self, z: Tensor) -> Tensor:
        """What is a function of one number looked up in a table of it, for images of one channel.

        With 1x1 kernels that is the whole network; with a 3x3 kernel it is what each place of a window adds to the
        second layer. Between places of the table the network is linear but for few kinks, where it is off by less than
        what bfloat16 rounds away everywhere.
        """
        cells = CELLS[self.kernel]
        with torch.autocast("cpu", enabled=False):
            at = _table.places(cells, z)[:, None]
            if self.kernel == 1:
                return _table.look_up(self._linear(at, 0)[:, 0], z)
            first, second, spare = F.relu(self._matrix(0, at)), self._conv(1), -self.width % _table.LANES
            assert second.bias is not None
            values = torch.einsum("pi,oik->kpo", first, second.weight.flatten(2)) + second.bias / 9
            found = F.relu(_table.sum_windows(F.pad(values, (0, spare)), z[:, 0]))
        third = self._conv(2)
        rows = F.linear(found, F.pad(third.weight.flatten(1), (0, spare)), third.bias)
        if self.depth > 3:
            rows = self._linear(F.relu(rows), 3)
        n, _, height, width = z.shape
        return rows.view(n, 1, height - 2, width - 2)

    def _by_rows(self, z: Tensor) -> Tensor:
        """Channels last: 1x1 convolutions are products of matrices."""
        n, _, height, width = z.shape
        rows = z.permute(0, 2, 3, 1).flatten(0, 2)
        if self.kernel == 1:
            found = self._linear(rows, 0)
        else:
            first = F.relu(self._matrix(0, rows)).view(n, height, width, -1).permute(0, 3, 1, 2)
            conv, height, width = self._conv(1), height - 2, width - 2
            second = F.conv2d(first, conv.weight.contiguous(memory_format=torch.channels_last), conv.bias)
            second = second.permute(0, 2, 3, 1).flatten(0, 2)
            found = self._linear(F.relu(second), 2) if self.depth > 2 else second
        return found.view(n, height, width, -1).permute(0, 3, 1, 2)

    def _linear(self, rows: Tensor, begin: int) -> Tensor:
        """The 1x1 convolutions from one on, as products of matrices."""
        for place in range(begin, self.depth):
            rows = self._matrix(place, rows if place == begin else F.relu(rows))
        return rows

    def _matrix(self, place: int, rows: Tensor) -> Tensor:
        conv = self._conv(place)
        return F.linear(rows, conv.weight.flatten(1), conv.bias)

    def _conv(self, place: int) -> nn.Conv2d:
        layer = self.layers[place]
        assert isinstance(layer, nn.Conv2d)
        return layer

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

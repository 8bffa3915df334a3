"""Decoders that add up one image per block of latents (Lachapelle et al., 2023; Wiedemer et al., 2023)."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets.likelihood import Bernoulli, Likelihood
from unbraid.nets.registry import Shape, build_inner, register

__all__ = ["Additive", "additive", "block_sizes", "check_additive", "shuffled_blocks"]


def block_sizes(count: int, blocks: int | Sequence[int], what: str = "latents") -> tuple[int, ...]:
    """How many latents each block has: so many blocks as even as can be, larger ones first, or the sizes themselves.

    ``what`` names them where blocks are refused.

    >>> block_sizes(6, 2), block_sizes(3, 2), block_sizes(6, [1, 5])
    ((3, 3), (2, 1), (1, 5))
    """
    if isinstance(blocks, int):
        if not 1 <= blocks <= count:
            raise UsageError(f"blocks must lie in 1..{count}, the number of {what}, got {blocks}")
        return tuple(count // blocks + (block < count % blocks) for block in range(blocks))
    sizes = tuple(blocks)
    if min(sizes, default=0) < 1 or sum(sizes) != count:
        raise UsageError(f"blocks must be sizes that add up to the {count} {what}, as in 2+1, got {sizes}")
    return sizes


class Additive(nn.Module):
    """f(z) = sum over blocks B of f_B(z_B): each block of latents, in their order, has a decoder of its own.

    What one block adds to the image does not depend on the others. Outputs are summed before the likelihood, which
    must not bend them: see :func:`check_additive`.
    """

    def __init__(self, decoders: Sequence[nn.Module], sizes: Sequence[int]) -> None:
        super().__init__()
        self.decoders, self.sizes = nn.ModuleList(decoders), tuple(sizes)

    def forward(self, codes: Tensor) -> Tensor:
        return torch.stack([self.block(number, part) for number, part in enumerate(self.split(codes))]).sum(0)

    def split(self, codes: Tensor) -> tuple[Tensor, ...]:
        """The codes ``[n, size]`` of each block."""
        return codes.split(self.sizes, dim=1)

    def block(self, number: int, codes: Tensor) -> Tensor:
        """What one block adds: images ``[n, c, h, w]`` of its codes ``[n, size]``."""
        return self.decoders[number](codes)


@register("additive")
def additive(
    shape: Shape, latents: int, *, heads: int = 2, net: str = "conv", blocks: int | Sequence[int] = 2
) -> tuple[nn.Module, nn.Module]:
    """The encoder of another network and, for every block of latents, a decoder of its own; their images add up.

    ``blocks=2`` makes two blocks as even as can be, ``blocks=1+5`` says how many latents each has. With one block it
    is that network. Options of the other network can follow its name where they need no comma:
    ``additive:net=mlp:width=64,blocks=2``.
    """
    sizes = block_sizes(latents, blocks)
    encoder, decoder = build_inner(net, shape, latents, heads=heads)
    if len(sizes) == 1:
        return encoder, Additive([decoder], sizes)
    return encoder, Additive([build_inner(net, shape, size, heads=1)[1] for size in sizes], sizes)


def check_additive(decoder: nn.Module, likelihood: Likelihood) -> None:
    """Refuse a likelihood under which the sum of several blocks is no longer a sum of images."""
    if isinstance(decoder, Additive) and len(decoder.sizes) > 1 and isinstance(likelihood, Bernoulli):
        raise UsageError(
            "network 'additive' adds images, which likelihood bernoulli would bend by a sigmoid after the sum: it "
            "needs likelihood gaussian (--likelihood gaussian)"
        )


def shuffled_blocks(codes: Tensor, sizes: Sequence[int], generator: torch.Generator) -> Tensor:
    """Codes ``[n, d]`` whose blocks come from different rows, each block shuffled by itself: recombinations."""
    edges = pairwise(accumulate(sizes, initial=0))
    orders = [torch.randperm(len(codes), generator=generator, device=codes.device) for _ in sizes]
    return torch.cat([codes[order, low:high] for order, (low, high) in zip(orders, edges, strict=True)], dim=1)

"""A network from factors to images, and the factors of an image by looking for the picture nearest to it."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets.additive import Additive
from unbraid.nets.modes import judged
from unbraid.problem import Problem

__all__ = ["Renderer", "nearest_sum"]

HELD = 1 << 27
"""At most so many numbers of drawn pictures are held: half a gigabyte."""
BLOCK = 1 << 22
"""At most so many distances are held at a time."""


def nearest_sum(images: Tensor, parts: Sequence[Tensor]) -> Tensor:
    """For each image, which picture of every part makes the nearest sum: ``[n, parts]``.

    ``images`` are ``[n, p]`` and a part is ``[m, p]``: all products of parts are compared without drawing them, since
    |x - sum_B f_B|^2 = |x|^2 + sum_B (|f_B|^2 - 2 x f_B) + 2 sum_{B < C} f_B f_C.
    """
    sizes = [len(part) for part in parts]

    def along(values: Tensor, *axes: int) -> Tensor:
        """Values over some parts, shaped to broadcast over the product of all."""
        shape = [1] * len(sizes)
        for axis in axes:
            shape[axis] = sizes[axis]
        return values.reshape(*values.shape[: values.ndim - len(axes)], *shape)

    constant = sum((along(part.square().sum(1), axis) for axis, part in enumerate(parts)), images.new_zeros(()))
    for first in range(len(parts)):
        for second in range(first + 1, len(parts)):
            constant = constant + along(2 * parts[first] @ parts[second].T, first, second)
    best = []
    for rows in images.split(max(1, BLOCK // math.prod(sizes))):
        distances = constant.expand(len(rows), *sizes)
        for axis, part in enumerate(parts):
            distances = distances - along(2 * rows @ part.T, axis)
        best.append(distances.flatten(1).argmin(1))
    return torch.stack(torch.unravel_index(torch.cat(best), sizes), dim=1)


class Renderer(nn.Module):
    """A decoder whose codes are the factors themselves, each scaled to [-1, 1], and the problem it was made for.

    :meth:`find` compares an image with the picture of every point of the factor grid. Of a decoder that adds up blocks
    only those of each block are drawn.
    """

    def __init__(self, decoder: nn.Module, problem: Problem) -> None:
        super().__init__()
        self.decoder, self.problem = decoder, problem
        if problem.factor_sizes is None:
            raise UsageError("a renderer needs factors with numbered values to look for; these were measured")
        self.sizes: tuple[int, ...] = problem.factor_sizes
        self.blocks = decoder.sizes if isinstance(decoder, Additive) else (len(self.sizes),)
        pictures = [math.prod(block) for block in self._by_block(self.sizes)]
        if max(pictures) * math.prod(problem.shape) > HELD or math.prod(pictures) > BLOCK:
            raise UsageError(
                f"factors are found by comparing an image with {math.prod(pictures):,} combinations, {max(pictures):,} "
                "of them drawn: too many. Take fewer values of factors (--data NAME:factor=::2), or more blocks"
            )
        self._drawn: tuple[object, list[Tensor]] | None = None

    @torch.no_grad()
    def find(self, images: Tensor) -> Tensor:
        """Values ``[n, K]`` of the factors whose picture is nearest to each image ``[n, c, h, w]``."""
        found = nearest_sum(images.flatten(1).float(), self._pictures())
        columns = [
            torch.stack(torch.unravel_index(found[:, number], sizes), dim=1)
            for number, sizes in enumerate(self._by_block(self.sizes))
        ]
        return torch.cat(columns, dim=1)

    def scaled(self, values: Tensor) -> Tensor:
        """Numbers of values ``[n, K]`` from the first at -1 to the last at 1."""
        last = values.new_tensor([size - 1 for size in self.sizes], dtype=torch.float32)
        return 2 * values / last.clamp_min(1) - 1

    def _pictures(self) -> list[Tensor]:
        """Pictures ``[points, pixels]`` of every combination of the factors of each block, kept until weights move."""
        weights = [*self.decoder.parameters(), *self.decoder.buffers()]
        state = [(weight.data_ptr(), weight._version) for weight in weights]
        if self._drawn is None or self._drawn[0] != state:
            with judged(self.decoder):
                self._drawn = (state, [self._draw(number) for number in range(len(self.blocks))])
        return self._drawn[1]

    def _draw(self, number: int) -> Tensor:
        device = next(self.decoder.parameters()).device
        sizes = self._by_block(self.sizes)[number]
        grid = torch.cartesian_prod(*(torch.arange(size, device=device) for size in sizes)).reshape(-1, len(sizes))
        last = torch.tensor([size - 1 for size in sizes], device=device).clamp_min(1)
        codes = 2 * grid / last - 1
        draw = self.decoder if not isinstance(self.decoder, Additive) else self.decoder.decoders[number]
        return torch.cat([draw(part).flatten(1).float() for part in codes.split(256)])

    def _by_block(self, values: Sequence[int]) -> list[tuple[int, ...]]:
        rest = list(values)
        return [tuple(rest.pop(0) for _ in range(size)) for size in self.blocks]

"""Codes joined block by block from several training images, and what a decoder draws of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, permutations
from typing import TYPE_CHECKING

import numpy as np

from unbraid.data import FactorSpace, Split, as_floats
from unbraid.errors import UsageError
from unbraid.generalization.scores import space_of

if TYPE_CHECKING:
    from unbraid.nets import Additive
    from unbraid.training import Run

__all__ = [
    "Blocks",
    "Donors",
    "additive_of",
    "best_assignment",
    "block_shares",
    "blocks_of",
    "join",
    "recombined_error",
]

HELD = 4096
"""Images held at a time."""
DRAWN = 1024
"""Codes that a decoder draws at a time."""
MOST_BLOCKS = 5
"""Of so many blocks all orders are tried."""


@dataclass(frozen=True)
class Blocks:
    """Which factors make a block, and which latents; which latent block shows which factor block is not said."""

    factors: tuple[slice, ...]
    latents: tuple[slice, ...]


def factor_blocks(space: FactorSpace, blocks: Sequence[int]) -> tuple[slice, ...]:
    """Blocks of factors in their order: so many of them (one number), or of these sizes."""
    from unbraid.nets import block_sizes

    sizes = block_sizes(len(space.names), blocks[0] if len(blocks) == 1 else blocks, "factors")
    if len(sizes) > MOST_BLOCKS:
        raise UsageError(f"blocks must be at most {MOST_BLOCKS}, got {len(sizes)}")
    return _slices(sizes)


def blocks_of(run: Run, space: FactorSpace, latents: int, blocks: Sequence[int] = (2,)) -> Blocks:
    """Blocks of factors, see :func:`factor_blocks`, and as many of latents.

    These are the blocks of the run's additive decoder, where it has as many; else they are as even as can be.
    """
    from unbraid.nets import block_sizes

    factors, decoder = factor_blocks(space, blocks), additive_of(run)
    if decoder is not None and len(decoder.sizes) == len(factors):
        return Blocks(factors, _slices(decoder.sizes))
    if latents < len(factors):
        raise UsageError(f"{len(factors)} blocks of factors need as many latents at least; this run has {latents}")
    return Blocks(factors, _slices(block_sizes(latents, len(factors))))


def additive_of(run: Run) -> Additive | None:
    """The decoder of a run if it adds up two or more blocks, else ``None``."""
    from unbraid.nets import Additive

    decoder = getattr(run.model, "decoder", None)
    return decoder if isinstance(decoder, Additive) and len(decoder.sizes) > 1 else None


def train_codes(run: Run, split: Split) -> np.ndarray:
    """Codes ``[n, d]`` of all training images, which give their blocks away."""
    images, count = split.train.images, len(split.train)
    starts = range(0, count, HELD)
    return np.concatenate([run.encode(images(np.arange(start, min(start + HELD, count)))) for start in starts])


class Donors:
    """The training images of a split by the values of a block of factors."""

    def __init__(self, split: Split, block: slice) -> None:
        self.space, self.block = space_of(split.data), block
        self._sizes = self.space.sizes[block]
        keys = self._keys(split.train.factors(np.arange(len(split.train))))
        self._order = np.argsort(keys, kind="stable")
        self.seen, self._starts, self._counts = np.unique(keys[self._order], return_index=True, return_counts=True)

    def known(self, factors: np.ndarray) -> np.ndarray:
        """Whether some training image shows the values of this block: bool ``[n]``."""
        return np.isin(self._keys(factors), self.seen)

    def draw(self, factors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A training image with the same values of this block, for each row of factors ``[n, K]``; all are known."""
        group = np.searchsorted(self.seen, self._keys(factors))
        return self._order[self._starts[group] + rng.integers(self._counts[group])]

    def of_each(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """``count`` training images of each combination of values of this block that was seen; all of fewer."""
        groups = np.split(self._order, self._starts[1:])
        return np.concatenate([rng.permutation(group)[:count] for group in groups])

    def _keys(self, factors: np.ndarray) -> np.ndarray:
        return np.ravel_multi_index(tuple(factors[:, self.block].T), self._sizes)


def join(codes: np.ndarray, rows: Sequence[np.ndarray], blocks: Blocks, assignment: Sequence[int]) -> np.ndarray:
    """Codes whose latent block ``assignment[b]`` is that of the image which gives factor block b, ``rows[b]``."""
    joined = np.empty((len(rows[0]), codes.shape[1]), codes.dtype)
    for block, latent in enumerate(assignment):
        part = blocks.latents[latent]
        joined[:, part] = codes[rows[block]][:, part]
    return joined


def best_assignment(
    run: Run, split: Split, codes: np.ndarray, donors: Sequence[Donors], blocks: Blocks, images: int, seed: int
) -> tuple[tuple[int, ...], float]:
    """Which latent block shows which factor block, by the error on recombined **training** images; and that error."""
    rng = np.random.default_rng((seed, 1))
    index = np.sort(rng.permutation(len(split.train))[:images])
    factors = split.train.factors(index)
    rows = [each.draw(factors, rng) for each in donors]
    truth = as_floats(split.train.images(index))
    orders = list(permutations(range(len(blocks.latents))))
    errors = [recombined_error(run, join(codes, rows, blocks, order), truth) for order in orders]
    best = int(np.argmin(errors))
    return orders[best], errors[best]


def recombined_error(run: Run, codes: np.ndarray, truth: np.ndarray) -> float:
    """Root mean squared error of decoded codes against images as floats in [0, 1]."""
    return float(np.sqrt(np.square(as_floats(run.decode(codes)) - truth).mean()))


def block_shares(run: Run, codes: np.ndarray) -> np.ndarray | None:
    """The share of each block in the variance of what an additive decoder draws of these codes; ``None`` of others.

    Variances over the codes of the images that each block adds, summed over pixels, divided by their sum. Images are
    drawn and forgotten 1,024 at a time.
    """
    import torch

    decoder = additive_of(run)
    if decoder is None:
        return None
    sums: list[np.ndarray | float] = [0.0] * len(decoder.sizes)
    squares = list(sums)
    with torch.no_grad():
        for some in torch.as_tensor(codes, dtype=torch.float32, device=run.device).split(DRAWN):
            for number, part in enumerate(decoder.split(some)):
                drawn = decoder.block(number, part).flatten(1).cpu().numpy().astype(np.float64)
                sums[number] += drawn.sum(axis=0)
                squares[number] += np.square(drawn).sum(axis=0)
    count = len(codes)
    variances = [square / count - np.square(mean / count) for square, mean in zip(squares, sums, strict=True)]
    spread = np.array([np.sum(np.maximum(variance, 0.0)) for variance in variances])
    total = spread.sum()
    return spread / total if total > 0 else np.full(len(spread), np.nan)


def _slices(sizes: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(low, high) for low, high in pairwise(accumulate(sizes, initial=0)))

"""Factors of an image by a search through a decoder: those of the nearest recombination of training codes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unbraid.data import Split
from unbraid.errors import UsageError
from unbraid.generalization.recombined import (
    DRAWN,
    Blocks,
    Donors,
    additive_of,
    best_assignment,
    blocks_of,
    join,
    train_codes,
)
from unbraid.generalization.scores import space_of, targets

if TYPE_CHECKING:
    from torch import Tensor

    from unbraid.nets import Additive
    from unbraid.training import Run

__all__ = ["RecombinedSearch"]

MOST = 1 << 18
"""Recombinations that are drawn and compared at most."""
MOST_NUMBERS = 1 << 27
"""Of all pictures together, half a gigabyte; a decoder that adds up blocks only holds those of each block."""


class RecombinedSearch:
    """A function from images to scaled factors: each image is compared with recombinations of training codes.

    Every block of factors has ``each`` training images of every combination of its values; their codes are joined in
    all ways. The factors of an image are those of the training images that gave the blocks of the nearest picture.
    """

    def __init__(
        self, run: Run, split: Split, blocks: Sequence[int] = (2,), *, each: int = 1, images: int = 2_000, seed: int = 0
    ) -> None:
        self.space = space_of(split.data)
        codes = train_codes(run, split)
        self.blocks = blocks_of(run, self.space, codes.shape[1], blocks)
        donors = [Donors(split, block) for block in self.blocks.factors]
        rng = np.random.default_rng((seed, 3))
        rows = [donor.of_each(each, rng) for donor in donors]
        self.counts = [len(chosen) for chosen in rows]
        asked, pixels = math.prod(self.counts), math.prod(split.data.shape)
        if asked > MOST:
            raise UsageError(
                f"{' x '.join(map(str, self.counts))} recombinations are too many to compare; take each=1, fewer "
                "values of factors, or infer=encode"
            )
        if _adding(run, len(rows)) is None and asked * pixels > MOST_NUMBERS:
            raise UsageError(
                f"the pictures of {' x '.join(map(str, self.counts))} recombinations have {asked * pixels:,} numbers, "
                f"and at most {MOST_NUMBERS:,} are held; take each=1, smaller images, fewer values of factors, "
                "infer=encode, or a decoder that adds up the blocks (network additive)"
            )
        self.factors = [split.train.factors(chosen) for chosen in rows]
        assignment, _ = best_assignment(run, split, codes, donors, self.blocks, images, seed)
        self.pictures = _pictures(run, codes, rows, self.blocks, assignment)

    def __call__(self, images: np.ndarray) -> np.ndarray:
        """Scaled factors ``[n, K]`` of uint8 images, or of vectors."""
        from unbraid.nets import nearest_sum
        from unbraid.training import numerics

        flat = numerics.to_tensor(images, self.pictures[0].device).flatten(1).float()
        best = nearest_sum(flat, self.pictures).cpu().numpy()
        if len(self.pictures) == 1:
            best = np.stack(np.unravel_index(best[:, 0], self.counts), axis=1)
        found = np.empty((len(images), len(self.space.names)), np.int64)
        for number, block in enumerate(self.blocks.factors):
            found[:, block] = self.factors[number][best[:, number]][:, block]
        return targets(found, self.space)


def _adding(run: Run, blocks: int) -> Additive | None:
    """The decoder of a run if it adds up so many blocks."""
    decoder = additive_of(run)
    return decoder if decoder is not None and len(decoder.sizes) == blocks else None


def _pictures(
    run: Run, codes: np.ndarray, rows: Sequence[np.ndarray], blocks: Blocks, assignment: Sequence[int]
) -> list[Tensor]:
    """Pictures ``[m, p]`` to be summed, a tensor per factor block; of a decoder that is not additive one of all."""
    import torch

    def codes_of(values: np.ndarray) -> Tensor:
        return torch.as_tensor(values, dtype=torch.float32, device=run.device)

    decoder = _adding(run, len(rows))
    with torch.no_grad():
        if decoder is not None:
            return [
                decoder.block(latent, codes_of(codes[rows[number]][:, blocks.latents[latent]])).flatten(1).float()
                for number, latent in enumerate(assignment)
            ]
        grid = np.indices([len(chosen) for chosen in rows]).reshape(len(rows), -1)
        joined = join(codes, [chosen[at] for chosen, at in zip(rows, grid, strict=True)], blocks, assignment)
        parts = [run.objective.decode(run.model, part) for part in codes_of(joined).split(DRAWN)]
        return [torch.cat(parts).flatten(1).float()]

"""Two factors along two orthogonal patterns of 8 x 8 pixels: linear images small enough to perturb in seconds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unbraid.data.dataset import Card, FactorDataset
from unbraid.data.registry import register
from unbraid.data.space import FactorSpace, check_index

__all__ = ["HadamardImages"]

_SPACE = FactorSpace(("first", "second"), (32, 32), ("ordinal", "ordinal"))
_CARD = Card(
    "Hadamard 8x8",
    "Computed here.",
    "MIT",
    traps=("Linear in its two factors, whose variances differ by 1.44: a VAE separates them by that alone.",),
    stands_in_for="image sets on which a perturbation takes hours to train",
)


@register("hadamard64")
class HadamardImages(FactorDataset):
    """``0.5 + 1.2 a h + b k`` for a and b in [-1, 1], where h and k are rows of the Hadamard matrix over 8."""

    name, card, space, shape = "hadamard64", _CARD, _SPACE, (8, 8, 1)

    def __init__(self) -> None:
        # Sylvester's matrix has the sign of the parity of the bits that row and column share.
        shared = np.bitwise_count(np.array([[21], [42]]) & np.arange(64)) % 2
        first, second = ((1 - 2.0 * shared) / 8).reshape(2, 8, 8)
        values = np.linspace(-1, 1, 32)
        pixels = 0.5 + 1.2 * values[:, None, None, None] * first + values[None, :, None, None] * second
        self._pixels = np.rint(255 * pixels).astype(np.uint8).reshape(len(_SPACE), 8, 8, 1)

    def images(self, index: np.ndarray | Sequence[int], rng: np.random.Generator | None = None) -> np.ndarray:
        return self._pixels[check_index(index, len(self))]

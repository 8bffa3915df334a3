"""A blurred spot at 16 x 16 places: the smallest image set on which a VAE shows what it does on sprites."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unbraid.data.dataset import Card, FactorDataset
from unbraid.data.registry import register
from unbraid.data.space import FactorSpace, check_index
from unbraid.errors import UsageError

__all__ = ["Blobs"]

_SPACE = FactorSpace(("x", "y"), (16, 16), ("ordinal", "ordinal"))
_CARD = Card(
    "Blobs 16x16",
    "Computed here.",
    "MIT",
    traps=(
        "256 images in all: a network can learn them by heart.",
        "The two widths decide how far the variances of x and y lie apart; equal widths are degenerate.",
    ),
    stands_in_for="the positions of dSprites where a training must take seconds",
)


@register("blobs16")
class Blobs(FactorDataset):
    """A Gaussian spot of widths ``sx`` and ``sy`` pixels, its middle on a 16 x 16 grid between pixels 4 and 11."""

    name, card, space, shape = "blobs16", _CARD, _SPACE, (16, 16, 1)

    def __init__(self, sx: float = 1.3, sy: float = 1.7) -> None:
        sx, sy = float(sx), float(sy)
        if not min(sx, sy) > 0:
            raise UsageError(f"sx and sy must be positive, got {sx} and {sy}")
        places, pixels = np.linspace(4, 11, 16), np.arange(16)
        across, down = (np.exp(-0.5 * ((pixels - places[:, None]) / width) ** 2) for width in (sx, sy))
        spots = down[None, :, :, None] * across[:, None, None, :]  # [x, y, row, column]
        self._pixels = np.rint(255 * spots).astype(np.uint8).reshape(256, 16, 16, 1)

    def images(self, index: np.ndarray | Sequence[int], rng: np.random.Generator | None = None) -> np.ndarray:
        return self._pixels[check_index(index, len(self))]

"""Two data sets that need no file, no download and no rendering pass: for tests, tutorials and first steps."""

from collections.abc import Sequence

import numpy as np

from unbraid.data.dataset import Card, FactorDataset
from unbraid.data.registry import register
from unbraid.data.space import FactorSpace, Kind
from unbraid.errors import UsageError

__all__ = ["IdentityFactors", "MiniSprites"]

_SPACE = FactorSpace(
    names=("shape", "scale", "x", "y"),
    sizes=(3, 4, 8, 8),
    kinds=("categorical", "ordinal", "ordinal", "ordinal"),
)

_CARD = Card(
    title="Mini sprites",
    source="Rendered here in memory.",
    licence="MIT",
    traps=("768 images in all: a network can learn them by heart.",),
    stands_in_for="dSprites in tests: upright squares, ellipses and triangles instead of turned squares, ellipses and "
    "hearts, on a grid a thousand times smaller",
)


@register("mini-sprites")
class MiniSprites(FactorDataset):
    """A white square, ellipse or triangle in 4 sizes and 8 x 8 places, 64 x 64 pixels, black and white."""

    name = "mini-sprites"
    card = _CARD
    space = _SPACE
    shape = (64, 64, 1)

    def __init__(self) -> None:
        self._pixels = _draw(self.space.factors(np.arange(len(self.space))))

    def images(self, index: np.ndarray | Sequence[int], rng: np.random.Generator | None = None) -> np.ndarray:
        return self._pixels[self.space.index(self.space.factors(index))]


class IdentityFactors(FactorDataset):
    """The observation is the factor vector: image ``i`` is ``[1, 1, K]`` and holds the K factor values themselves.

    Any metric's best case: an encoder that returns its input has a perfect code.

    >>> IdentityFactors((3, 4)).images([9]).ravel()
    array([2, 1], dtype=uint8)
    """

    name = "identity"
    card = Card("The factors themselves", source="Computed.", licence="MIT")

    def __init__(self, sizes: Sequence[int]) -> None:
        if not sizes or max(sizes) > 256:
            raise UsageError(
                f"sizes must be one or more numbers from 1 to 256, as images are bytes; got {tuple(sizes)}"
            )
        names = tuple(f"factor{k}" for k in range(len(sizes)))
        kind: Kind = "ordinal"
        self.space = FactorSpace(names, tuple(sizes), (kind,) * len(sizes))
        self.shape = (1, 1, len(sizes))

    def images(self, index: np.ndarray | Sequence[int], rng: np.random.Generator | None = None) -> np.ndarray:
        return self.space.factors(index).astype(np.uint8)[:, None, None, :]


def _draw(factors: np.ndarray) -> np.ndarray:
    """Fill each shape at the pixel centres: uint8 ``[n, 64, 64, 1]``."""
    shape = factors[:, 0, None, None]
    radius = (5.0 + 2.0 * factors[:, 1])[:, None, None]
    across, down = (16 + 32 * factors[:, 2:] / 7).T[:, :, None, None]
    centre = np.arange(64) + 0.5
    u, v = centre[None, None, :] - across, centre[None, :, None] - down  # pixels right of and below the centre
    square = np.maximum(abs(u), abs(v)) < radius
    ellipse = (u / 1.33) ** 2 + (v * 1.33) ** 2 < radius**2
    triangle = (v < radius) & (2 * abs(u) < v + radius)
    return np.where(shape == 0, square, np.where(shape == 1, ellipse, triangle)).astype(np.uint8)[..., None] * np.uint8(
        255
    )

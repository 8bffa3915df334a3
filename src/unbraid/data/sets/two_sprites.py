"""Two sprites in one image, which add up or hide each other: a data set made of two blocks of factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from unbraid.data.dataset import Card, FactorDataset
from unbraid.data.registry import register
from unbraid.data.space import FactorSpace, Kind, check_index
from unbraid.errors import unknown_name

__all__ = ["TwoSprites"]

Mode = Literal["add", "occlude"]
MODES: tuple[Mode, ...] = get_args(Mode)

SIZE, FINE = 32, 8
"""Pixels a side, and points a side of a pixel at which its coverage is counted."""
PLACES, SCALES, LINE = 8, 3, 24
NEAR, FAR = 8, 16
"""The first place of a centre, and how far the last one is from it, in pixels."""
GREY = 127
"""Of each sprite: two of them still fit into a byte."""


def _space(factors: dict[str, int]) -> FactorSpace:
    """The same factors of both sprites, those of the first before those of the second."""
    names = tuple(f"{sprite}_{name}" for sprite in "ab" for name in factors)
    ordinal: Kind = "ordinal"
    return FactorSpace(names, tuple(factors.values()) * 2, (ordinal,) * len(names))


_SPACE, _LINE = _space({"x": PLACES, "y": PLACES, "scale": SCALES}), _space({"y": LINE})

_CARD = Card(
    title="Two sprites",
    source="Rendered here in memory.",
    licence="MIT",
    citation="After the images of Lachapelle et al., Additive Decoders for Latent Variables Identification and "
    "Cartesian-Product Extrapolation, NeurIPS 2023, and Wiedemer et al., Compositional Generalization from First "
    "Principles, NeurIPS 2023",
    traps=(
        "With mode=occlude the second sprite hides the first: images are no longer a sum of one image per sprite.",
        "With line=true there are 576 images in all: a network can learn them by heart.",
    ),
)


@register("two-sprites", space=_SPACE)
class TwoSprites(FactorDataset):
    """A square and a disc of equal area, each in 8 x 8 places and 3 sizes, 32 x 32 pixels; they may overlap.

    The first three factors belong to the square, the others to the disc: two blocks. ``mode=add`` sums two images
    of half intensity, exactly, also where the sprites overlap; with ``occlude`` the disc is white and in front.
    ``line=true`` moves both up and down only, on one line, in 24 places each: 576 images.
    """

    card, shape = _CARD, (SIZE, SIZE, 1)

    def __init__(self, mode: Mode = "add", line: bool = False) -> None:
        if mode not in MODES:
            raise unknown_name("mode", mode, MODES)
        self.name, self.mode, self.line = "two-sprites", mode, line
        self.space = _LINE if line else _SPACE
        self._sprites = [_sprite(kind, line) for kind in ("square", "disc")]

    def images(self, index: np.ndarray | Sequence[int], rng: np.random.Generator | None = None) -> np.ndarray:
        positions = check_index(index, len(self))
        first, second = divmod(positions, len(self._sprites[1]))
        below, above = self._sprites[0][first], self._sprites[1][second]
        if self.mode == "occlude":
            below, above = np.rint(below * (1 - above / GREY)).astype(np.uint8), 2 * above
        return (below + above)[..., None]


def _sprite(kind: str, line: bool) -> np.ndarray:
    """Every image of one sprite alone, uint8 ``[places and sizes, 32, 32]``: grey times the share that is covered."""
    places = np.indices((1, LINE, 1) if line else (PLACES, PLACES, SCALES)).reshape(3, -1)
    across = np.full(LINE, SIZE / 2) if line else NEAR + FAR * places[0] / (PLACES - 1)
    down = NEAR + FAR * places[1] / ((LINE if line else PLACES) - 1)
    half = np.full(LINE, 3.5) if line else 3.5 + places[2]
    centre = (np.arange(SIZE * FINE) + 0.5) / FINE
    images = np.empty((len(across), SIZE, SIZE), np.uint8)
    for image, (x, y, r) in enumerate(zip(across, down, half, strict=True)):
        u, v = centre[None, :] - x, centre[:, None] - y  # pixels right of and below the centre
        inside = np.maximum(abs(u), abs(v)) < r if kind == "square" else u**2 + v**2 < 4 * r**2 / np.pi
        images[image] = np.rint(GREY * inside.reshape(SIZE, FINE, SIZE, FINE).mean(axis=(1, 3)))
    return images

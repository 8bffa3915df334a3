"""dSprites and its smaller sisters, rendered from their factors."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from unbraid.data.dataset import Card, FactorDataset
from unbraid.data.files.dsprites_file import DSpritesFile
from unbraid.data.files.root import find_file
from unbraid.data.files.store import ImageStore, render_store, store_file
from unbraid.data.registry import register
from unbraid.data.render.sprite_render import SPACE, render_sprites
from unbraid.data.wrapper import Subset
from unbraid.errors import UsageError

__all__ = ["OFFICIAL_FILE", "SIZES", "Sprites", "load_dsprites"]

OFFICIAL_FILE = "dsprites/dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
"""The published archive, where it is looked for under a data root."""

SIZES = {64: "dsprites", 32: "sprites32", 16: "sprites16"}

_GEOMETRY_TRAPS = (
    "Orientations 0 and 39 are the same angle: 18,432 images are exact duplicates of others.",
    "The square repeats after a quarter turn and the ellipse after half a turn, nearly to the pixel: no code can tell "
    "these orientations apart, which caps every score of orientation.",
    "Positions stay within the middle half of the image: the sprite never touches the border.",
)

_CARD = Card(
    title="dSprites, re-rendered",
    source="Rendered here from the factors. Equal to all 332 published images at hand; in the whole set of 3 billion "
    "pixels perhaps a few hundred differ from the published archive.",
    licence="MIT (the published archive: Apache-2.0)",
    citation="Matthey, Higgins, Hassabis, Lerchner. dSprites: Disentanglement testing Sprites dataset, 2017",
    traps=("Only 715,706 of the 737,280 images are distinct.", *_GEOMETRY_TRAPS),
)


def _small_card(size: int, distinct: str) -> Card:
    return replace(
        _CARD,
        title=f"dSprites geometry at {size} x {size}",
        source="Rendered here from the factors.",
        licence="MIT",
        traps=(
            f"Only {distinct} of the 737,280 images are distinct: pixels are black or white, so neighbouring positions "
            "and angles often look the same, and small shapes are hard to tell apart.",
            *_GEOMETRY_TRAPS,
        ),
        stands_in_for=f"dSprites in quick experiments: the same outlines, shrunk to {size} x {size} before filling",
    )


QUARTER = SPACE.select(orientation=slice(10))
QUARTER_CARD = replace(
    _CARD,
    title="dSprites-90",
    citation=f"{_CARD.citation}; Schott et al., Visual representation learning does not generalize strongly within the "
    "same domain, ICLR 2022",
    traps=("Orientations 0 to 9 of 40, so that no shape looks the same at two of them.", _GEOMETRY_TRAPS[2]),
)
CARDS = {64: _CARD, 32: _small_card(32, "643,901"), 16: _small_card(16, "184,991")}


class Sprites(FactorDataset):
    """A white square, ellipse or heart in 6 sizes, 40 orientations and 32 x 32 places (Matthey et al., 2017).

    ``Sprites(64)`` is dSprites; 32 and 16 show the same geometry in smaller images. The first use renders all images
    into the data root, which takes seconds.
    """

    space = SPACE

    def __init__(self, size: int = 64, *, store: ImageStore | None = None) -> None:
        if size not in SIZES:
            raise UsageError(f"size must be one of {', '.join(map(str, sorted(SIZES)))}, got {size!r}")
        self.name, self.card, self.shape = SIZES[size], CARDS[size], (size, size, 1)
        self.store = store or render_store(
            self.name,
            count=len(SPACE),
            shape=self.shape,
            render=lambda index: render_sprites(SPACE.factors(index), size),
            binary=True,
        )

    def images(self, index: np.ndarray | Sequence[int], rng: np.random.Generator | None = None) -> np.ndarray:
        return self.store.images(index)


_register = partial(register, size="64x64x1", files=(OFFICIAL_FILE, store_file("dsprites")), made=True)
"""Sets that are dSprites, or a part of it: from the archive, or rendered."""


@_register("dsprites", card=_CARD, space=SPACE)
def load_dsprites(source: str | Path | None = None) -> Sprites:
    """dSprites from the published archive if there is one, else rendered.

    ``source`` is the archive's path, or ``"rendered"``; by default the archive is looked for under the data root.
    """
    archive = find_file(OFFICIAL_FILE) if source is None else None if source == "rendered" else Path(source)
    if archive is None:
        return Sprites(64)
    data = Sprites(64, store=DSpritesFile(archive).store())
    data.card = replace(_CARD, title="dSprites", source=f"The published archive {archive}", licence="Apache-2.0")
    return data


@_register("dsprites-90", card=QUARTER_CARD, space=QUARTER)
def load_dsprites_90(source: str | Path | None = None) -> Subset:
    """dSprites turned by less than a quarter: the first ten orientations, which every shape shows differently."""
    data = load_dsprites(source).subset(orientation=slice(10))
    data.name, data.card = "dsprites-90", replace(QUARTER_CARD, source=data.card.source, licence=data.card.licence)
    return data


@register("sprites32", card=CARDS[32], size="32x32x1", space=SPACE, files=(store_file("sprites32"),), made=True)
def load_sprites32() -> Sprites:
    """The same sprites in 32 x 32 pixels."""
    return Sprites(32)


@register("sprites16", card=CARDS[16], size="16x16x1", space=SPACE, files=(store_file("sprites16"),), made=True)
def load_sprites16() -> Sprites:
    """The same sprites in 16 x 16 pixels."""
    return Sprites(16)

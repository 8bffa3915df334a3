"""Abstract dSprites: coloured sprites on grey, whatever way they are turned (van Steenkiste et al., 2019)."""

from pathlib import Path

import numpy as np

from unbraid.data.dataset import Card, Dataset, FactorDataset, Index
from unbraid.data.registry import entry, register
from unbraid.data.sets.sprites import load_dsprites, load_sprites32
from unbraid.data.space import FactorSpace
from unbraid.errors import UsageError

__all__ = ["BACKGROUNDS", "OBJECTS", "AbstractSprites"]

BACKGROUNDS = (0, 64, 128, 191, 255)
"""Greys."""
OBJECTS = (
    (232, 150, 93),
    (162, 177, 92),
    (96, 186, 152),
    (101, 180, 201),
    (178, 159, 229),
    (232, 141, 191),
)
"""Colours of sprites."""

SPACE = FactorSpace(
    ("background", "colour", "shape", "scale", "x", "y"),
    (len(BACKGROUNDS), len(OBJECTS), 3, 6, 32, 32),
    ("ordinal", "categorical", "categorical", "ordinal", "ordinal", "ordinal"),
)
_TRAP = "The orientation is drawn anew at every access and is no factor."
_CITATION = (
    "van Steenkiste, Locatello, Schmidhuber, Bachem. Are disentangled representations helpful for abstract visual "
    "reasoning? NeurIPS 2019"
)


class AbstractSprites(FactorDataset):
    """Sprites of a set with the factors of dSprites, in one of six colours on one of five greys.

    Pixels are ``mask * colour + (1 - mask) * grey``, rounded where the mask is neither black nor white. The orientation
    is drawn at every access, from the generator that is passed in.
    """

    space = SPACE

    def __init__(self, base: Dataset) -> None:
        space = base.need_space("abstract sprites")
        if not {"shape", "scale", "orientation", "x", "y"} == set(space.names) or base.shape[2] != 1:
            raise UsageError(f"abstract sprites are made of sprites with the factors of dSprites, not of {base.name!r}")
        self.base, self.shape = base, (*base.shape[:2], 3)
        sizes = dict(zip(space.names, space.sizes, strict=True))
        self.space = FactorSpace(SPACE.names, (*SPACE.sizes[:2], *(sizes[n] for n in SPACE.names[2:])), SPACE.kinds)
        self.name = f"abstract-{base.name}"
        self.card = abstract_card(base.card)

    @property
    def stochastic(self) -> bool:
        return True

    def images(self, index: Index, rng: np.random.Generator | None = None) -> np.ndarray:
        if rng is None:
            raise UsageError(
                f"{self.name!r} draws orientations anew at every access: pass rng, such as np.random.default_rng(0)"
            )
        factors = self.space.factors(index)
        space = self.base.need_space()
        known = dict(zip(self.space.names, factors.T, strict=True))
        turn = rng.integers(space.sizes[space.names.index("orientation")], size=len(factors))
        inside = np.stack([turn if name == "orientation" else known[name] for name in space.names], axis=1)
        mask = self.base.images(space.index(inside))[..., :1].astype(np.int64)  # [n, h, w, 1]
        colours = np.array(OBJECTS)[known["colour"]][:, None, None]  # [n, 1, 1, 3]
        greys = np.array(BACKGROUNDS)[known["background"]][:, None, None, None]
        found: np.ndarray = ((mask * colours + (255 - mask) * greys + 127) // 255).astype(np.uint8)
        return found


def abstract_card(base: Card) -> Card:
    """The card of abstract sprites made of those with this card."""
    about = f"{base.citation}; {_CITATION}".removeprefix("; ")
    return Card(f"{base.title}, coloured, on grey", base.source, base.licence, about, (_TRAP, *base.traps))


def _about(base: str) -> dict[str, object]:
    known = entry(base)
    return {
        "card": abstract_card(known.card),
        "size": known.size.removesuffix("1") + "3",
        "space": SPACE,
        "files": known.files,
        "made": known.made,
    }


@register("abstract-dsprites", **_about("dsprites"))  # type: ignore[arg-type]
def _abstract_dsprites(source: str | Path | None = None) -> AbstractSprites:
    return AbstractSprites(load_dsprites(source))


@register("abstract-sprites32", **_about("sprites32"))  # type: ignore[arg-type]
def _abstract_sprites32() -> AbstractSprites:
    return AbstractSprites(load_sprites32())

"""Handwritten digits moved by an affine map: classes and a complete grid of factors on the same images."""

from dataclasses import replace
from functools import lru_cache
from typing import Literal

import numpy as np

from unbraid.data.dataset import Card, FactorDataset, Index
from unbraid.data.files.root import find_file
from unbraid.data.registry import register
from unbraid.data.render.affine_glyphs import move_glyphs
from unbraid.data.sets.digits8 import load_digits8
from unbraid.data.sets.mnist import load_mnist, mnist_files
from unbraid.data.space import FactorSpace
from unbraid.errors import UsageError, unknown_name

__all__ = ["AffineDigits"]

GLYPHS = 100
"""Of each digit."""
SCALES = np.linspace(0.55, 0.85, 5)
TURNS = np.linspace(-40, 40, 9)
"""Degrees against the clock."""
SHIFTS = np.arange(-3, 4)
"""Pixels to the right, and down."""
SLANTS = np.linspace(-0.4, 0.4, 5)
"""How far the top leans to the right, in heights."""
SIZE = 28
BOX = 20
"""Pixels that a digit is high at scale 1, as in MNIST."""

SPACE = FactorSpace(
    names=("digit", "glyph", "scale", "rotation", "x", "y", "slant"),
    sizes=(10, GLYPHS, len(SCALES), len(TURNS), len(SHIFTS), len(SHIFTS), len(SLANTS)),
    kinds=("categorical", "categorical", "ordinal", "ordinal", "ordinal", "ordinal", "ordinal"),
)
_WORDS = {
    "mnist": "MNIST's {} files",
    "digits8": "digits8 (those for {}), because MNIST's files were not at hand or not asked for",
}
_OTHERS = "Rendered here from the factors by bilinear interpolation"
_SMALL = (
    "Glyphs are 8x8 pixels, enlarged: they look soft, and numbers are not those of MNIST's glyphs. With MNIST's files "
    "under UNBRAID_DATA glyphs are taken from there."
)
CARD = Card(
    title="Digits moved by an affine map",
    source=f"{_OTHERS}, of 100 images of each digit of MNIST where its files are at hand, else of digits8.",
    licence="MIT for the rendering; MNIST: CC BY-SA 3.0, digits8: CC BY 4.0",
    citation="LeCun, Bottou, Bengio and Haffner, Gradient-based learning applied to document recognition, 1998; after "
    "the transformed digits of Sabour, Frosst and Hinton, Dynamic routing between capsules, 2017",
    traps=(
        "6 and 9 stay apart: no digit is turned by more than 40 degrees. Some pairs of a glyph's own slant and the "
        "factor slant look alike, so slant and rotation are relative to how the glyph was written.",
        "A glyph is a person's way of writing one digit: glyph 7 of digit 3 has nothing to do with glyph 7 of digit 5.",
        "The lowest and the highest glyphs of wide digits touch the border at the largest scale and shift.",
    ),
    stands_in_for="affNIST: the same idea, on a grid that is complete, so that every split by factors applies",
)


class AffineDigits(FactorDataset):
    """Digits in 100 handwritings each, slanted, scaled, turned and shifted: 11,025,000 grey images 28x28.

    ``glyphs`` are of MNIST's training images (``train``) or of its test images (``test``): handwritings that no model
    of the former has seen. ``source`` is ``mnist``, ``digits8``, or ``auto``: MNIST where its files are at hand.
    Nothing is kept but the glyphs; images are drawn when they are asked for.
    """

    space = SPACE
    card = CARD
    shape = (SIZE, SIZE, 1)
    classes = tuple("0123456789")
    name = "affine-digits"

    def __init__(
        self, glyphs: Literal["train", "test"] = "train", source: Literal["auto", "mnist", "digits8"] = "auto"
    ) -> None:
        for what, word, known in (("glyphs", glyphs, ("train", "test")), ("source", source, ("auto", *_WORDS))):
            if word not in known:
                raise unknown_name(f"{what} of 'affine-digits':", word, known)
        at_hand = all(map(_at_hand, ("train", "test")))
        self.source: str = source if source != "auto" else "mnist" if at_hand else "digits8"
        self._glyphs = _glyphs(self.source, glyphs)
        per_digit = len(self._glyphs) // 10
        if per_digit != GLYPHS:
            self.space = FactorSpace(SPACE.names, (10, per_digit, *SPACE.sizes[2:]), SPACE.kinds)
        if glyphs == "test":
            self.name = "affine-digits-test"
        words = f"{per_digit} images of each digit of {_WORDS[self.source].format(glyphs)}"
        small = self.source == "digits8"
        self.card = replace(
            CARD, source=f"{_OTHERS}, of {words}.", traps=(_SMALL, *CARD.traps) if small else CARD.traps
        )

    def images(self, index: Index, rng: np.random.Generator | None = None) -> np.ndarray:
        factors = self.space.factors(index)
        digit, glyph, scale, turn, x, y, slant = factors.T
        moves = np.stack([SCALES[scale], np.radians(TURNS[turn]), SHIFTS[x], SHIFTS[y], SLANTS[slant]], axis=1)
        which = digit * self.space.sizes[1] + glyph
        side = self._glyphs.shape[1]
        return move_glyphs(self._glyphs, which, moves, SIZE, 1.0 if side == SIZE else BOX / side)[..., None]

    def labels(self, index: Index | None = None) -> np.ndarray:
        if index is None:
            return np.repeat(np.arange(10), len(self) // 10)
        return self.space.factors(index)[:, 0]


def _at_hand(split: str) -> bool:
    return all(find_file(*mnist_files(split, what)) is not None for what in ("images", "labels"))


@lru_cache(maxsize=4)
def _glyphs(source: str, glyphs: str) -> np.ndarray:
    """Glyphs uint8 ``[10 * n, g, g]``, digit after digit, in the order of their file."""
    data = load_mnist(glyphs) if source == "mnist" else load_digits8()
    labels = data.labels()
    places = [np.flatnonzero(labels == digit) for digit in range(10)]
    if source == "mnist":
        chosen = [place[:GLYPHS] for place in places]
    else:  # one set for both: the first are for training, of the others as many as every digit has
        rest = min(len(place) for place in places) - GLYPHS
        chosen = [place[:GLYPHS] if glyphs == "train" else place[GLYPHS : GLYPHS + rest] for place in places]
    if min(map(len, chosen)) < len(chosen[0]):
        raise UsageError(f"MNIST's {glyphs} files hold fewer than {GLYPHS} images of a digit; get them anew")
    found = data.images(np.concatenate(chosen))[..., 0].copy()
    found.flags.writeable = False
    return found


register("affine-digits", card=CARD, size="28x28x1", space=SPACE)(AffineDigits)

"""Black and white sprites in colour, in noise, and in front of a painting (Locatello et al., 2019).

What is added is drawn anew at every access from the generator that is passed in. It is no factor, and nothing of it is
kept: asking twice for the same image gives two different ones.
"""

from collections.abc import Callable
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided

from unbraid.data.dataset import Card, Dataset
from unbraid.data.registry import entry, register
from unbraid.data.render.painting import background_picture
from unbraid.data.sets.mini import MiniSprites
from unbraid.data.sets.sprites import load_dsprites, load_sprites32
from unbraid.data.wrapper import Wrapper
from unbraid.errors import UsageError

__all__ = ["Colored", "Noisy", "Scream", "colored", "noisy", "scream"]


_CITATION = (
    "Locatello, Bauer, Lucic, Raetsch, Gelly, Schoelkopf, Bachem. Challenging common assumptions in the unsupervised "
    "learning of disentangled representations, ICML 2019"
)


Load = TypeVar("Load", bound=Callable[..., Dataset])


class _Variant(Wrapper):
    prefix: str
    words: str
    trap: str

    def __init__(self, base: Dataset) -> None:
        super().__init__(base)
        if len(base.shape) != 3 or base.shape[2] != 1:
            size = "x".join(map(str, base.shape))
            raise UsageError(f"{self.prefix} needs images of one channel; {base.name!r} has {size}")
        height, width, _ = base.shape
        self.shape = (height, width, 3)
        self.name = f"{self.prefix}-{base.name}"
        self.card = self.card_of(base.card)

    @classmethod
    def card_of(cls, base: Card) -> Card:
        """The card of the variant of a data set with this card."""
        return replace(
            base,
            title=f"{base.title}, {cls.words}",
            traps=(cls.trap, *base.traps),
            citation=f"{base.citation}; {_CITATION}".removeprefix("; "),
        )

    @property
    def stochastic(self) -> bool:
        return True

    def show(self, images: np.ndarray, index: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
        if rng is None:
            raise UsageError(
                f"{self.name!r} draws its images anew at every access: pass rng, such as np.random.default_rng(0)"
            )
        # Adding 1 sends 255 to 0 and 0 to 1, and everything else above 1.
        if (images + np.uint8(1)).max(initial=0) > 1:
            raise UsageError(f"{self.prefix} needs black and white images (0 and 255); {self.base.name!r} has greys")
        return self.paint(images, rng)

    def paint(self, sprites: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """RGB images of black and white ones ``[n, h, w, 1]``.

        Channels are done one by one: broadcasting over a last axis of three is ten times slower.
        """
        raise NotImplementedError


class Colored(_Variant):
    """Each sprite in one random colour, every channel uniform in [0.5, 1], on black."""

    prefix = "color"
    words = "in random colours"
    trap = "The colour is drawn anew at every access and is no factor."

    def paint(self, sprites: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        colours = rng.integers(128, 256, size=(len(sprites), 1, 1, 3), dtype=np.uint8)
        images = np.empty((len(sprites), *self.shape), dtype=np.uint8)
        for channel in range(3):
            np.bitwise_and(sprites[..., 0], colours[..., channel], out=images[..., channel])
        return images


class Noisy(_Variant):
    """White sprites before noise that is uniform in [0, 1] and independent in every pixel and channel."""

    prefix = "noisy"
    words = "in noise"
    trap = "The noise is drawn anew at every access and is no factor; no decoder can reconstruct it."

    def paint(self, sprites: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        wanted = len(sprites) * prod(self.shape)
        # Whole words are by far the fastest to draw; as little-endian bytes they are the same everywhere.
        words = rng.integers(0, 2**64, size=-(-wanted // 8), dtype=np.uint64).astype("<u8", copy=False)
        images = words.view(np.uint8)[:wanted].reshape(len(sprites), *self.shape)
        for channel in range(3):
            images[..., channel] |= sprites[..., 0]
        return images


class Scream(_Variant):
    """Sprites as the negative of what is behind them: a random crop of a picture, averaged with a random colour.

    ``background`` is a picture file or a uint8 array ``[h, w, 3]``; by default a painting invented for the purpose.
    """

    prefix = "scream"
    words = "as negatives on a painting"
    trap = "Crop and tint of the background are drawn anew at every access and are no factors."

    def __init__(self, base: Dataset, background: str | Path | np.ndarray | None = None) -> None:
        super().__init__(base)
        height, width, _ = self.shape
        self._picture = np.ascontiguousarray(background_picture(background, smallest=max(height, width) + 1))
        # All crops at once, as views: [y, x, row, pixels of the row].
        down, right, _ = self._picture.strides
        places = (self._picture.shape[0] - height, self._picture.shape[1] - width)
        self._crops = as_strided(self._picture, (*places, height, width * 3), (down, right, down, 1), writeable=False)

    def paint(self, sprites: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        count = len(sprites)
        y, x = (rng.integers(places, size=count) for places in self._crops.shape[:2])
        tints = np.tile(rng.integers(0, 256, size=(count, 1, 3), dtype=np.uint8), self.shape[1])
        crops = self._crops[y, x]
        # The mean of two bytes, rounded down, without leaving bytes.
        images = ((crops & tints) + ((crops ^ tints) >> 1)).reshape(count, *self.shape)
        for channel in range(3):
            images[..., channel] ^= sprites[..., 0]  # 255 ^ b is 255 - b
        return images


def colored(data: Dataset) -> Colored:
    """Black and white images in one random colour each."""
    return Colored(data)


def noisy(data: Dataset) -> Noisy:
    """Black and white images with noise in place of black."""
    return Noisy(data)


def scream(data: Dataset, background: str | Path | np.ndarray | None = None) -> Scream:
    """Black and white images as negatives in front of random crops of a picture."""
    return Scream(data, background)


def _variant(variant: type[_Variant], base: str) -> Callable[[Load], Load]:
    """Decorator: register the loader of a variant with what is known of the data set inside it."""
    known = entry(base)
    return register(
        f"{variant.prefix}-{base}",
        card=variant.card_of(known.card),
        images=known.images,
        size=known.size.removesuffix("1") + "3",
        space=known.space,
        files=known.files,
        made=known.made,
    )


@_variant(Colored, "dsprites")
def _color_dsprites(source: str | Path | None = None) -> Colored:
    return Colored(load_dsprites(source))


@_variant(Noisy, "dsprites")
def _noisy_dsprites(source: str | Path | None = None) -> Noisy:
    return Noisy(load_dsprites(source))


@_variant(Scream, "dsprites")
def _scream_dsprites(source: str | Path | None = None, background: str | Path | np.ndarray | None = None) -> Scream:
    return Scream(load_dsprites(source), background)


def _register_all(base: str, make: Callable[[], Dataset]) -> None:
    @_variant(Colored, base)
    def load_colored() -> Colored:
        return Colored(make())

    @_variant(Noisy, base)
    def load_noisy() -> Noisy:
        return Noisy(make())

    @_variant(Scream, base)
    def load_scream(background: str | Path | np.ndarray | None = None) -> Scream:
        return Scream(make(), background)


_register_all("sprites32", load_sprites32)
_register_all("mini-sprites", MiniSprites)

"""Sprites before, or cut out of, photographs, of any folder of them."""

from pathlib import Path
from typing import Literal

import numpy as np

from unbraid.data.arrays import Held
from unbraid.data.dataset import Card, Dataset
from unbraid.data.files.folder import image_files, open_files
from unbraid.data.hashing import hash_bits
from unbraid.data.registry import entry, register
from unbraid.data.sets.sprites import load_sprites32
from unbraid.data.wrapper import Wrapper
from unbraid.errors import UsageError
from unbraid.paths import user_path

__all__ = ["PhotoSprites"]

Mode = Literal["background", "foreground"]
_KNOWN = entry("sprites32")


class PhotoSprites(Wrapper):
    """Black and white sprites with photographs behind them, or within.

    ``background``: the photograph, ``visibility`` times as bright, with the sprite in white before it. ``foreground``:
    black, and inside the sprite ``visibility * photo + (1 - visibility) * 255``. With visibility 0 both are the sprite
    in three channels. Which photograph it is, is drawn at every access, unless ``fixed``: then it belongs to the
    image's position, and a model can learn it by heart.
    """

    def __init__(
        self, base: Dataset, photos: Held, *, visibility: float = 1.0, mode: Mode = "background", fixed: bool = False
    ) -> None:
        super().__init__(base)
        if len(base.shape) != 3 or base.shape[2] != 1:
            raise UsageError(f"photographs go with sprites of one channel; {base.name!r} has {base.shape}")
        if not 0 <= visibility <= 1:
            raise UsageError(f"visibility must lie in [0, 1], got {visibility}")
        if mode not in ("background", "foreground"):
            raise UsageError(f"mode must be background or foreground, got {mode!r}")
        self.shape = (*base.shape[:2], 3)
        if photos.shape != self.shape:
            raise UsageError(f"photos must be of shape {self.shape}, got {photos.shape}")
        self.photos, self.visibility, self.mode, self.fixed = photos, visibility, mode, fixed
        self.name = f"photo-{base.name}"
        self.card = photo_card(base.card)

    @property
    def stochastic(self) -> bool:
        return not self.fixed or self.base.stochastic

    def show(self, images: np.ndarray, index: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
        if self.fixed:
            chosen = (hash_bits(self.origin(index).astype(np.uint64), 42) % np.uint64(len(self.photos))).astype(
                np.int64
            )
        elif rng is None:
            raise UsageError(
                f"{self.name!r} draws photographs anew at every access: pass rng, such as np.random.default_rng(0)"
            )
        else:
            chosen = rng.integers(len(self.photos), size=len(index))
        mask = images.astype(np.float32) / 255
        photo = self.photos.images(chosen).astype(np.float32) * self.visibility
        if self.mode == "background":
            found = mask * 255 + (1 - mask) * photo
        else:
            found = mask * (photo + (1 - self.visibility) * 255)
        return np.rint(found).astype(np.uint8)


def photo_card(base: Card) -> Card:
    """The card of sprites with this card before photographs."""
    traps = ("Which photograph is behind a sprite is drawn anew at every access (unless fixed) and is no factor.",)
    return Card(f"{base.title}, with photographs", base.source, base.licence, base.citation, (*traps, *base.traps))


@register(
    "photo-sprites32",
    card=photo_card(_KNOWN.card),
    size="32x32x3",
    space=_KNOWN.space,
    files=("photos",),
)
def load_photo_sprites(
    photos: str | Path = "photos", visibility: float = 1.0, mode: Mode = "background", fixed: bool = False
) -> PhotoSprites:
    """Sprites of 32x32 with photographs of a folder, cropped in the middle and shrunk."""
    from unbraid.data.files.root import find_file

    folder = find_file(str(photos)) or user_path(photos, "photos")
    files = image_files(folder) if folder.is_dir() else []
    if not files:
        raise UsageError(
            f"photo-sprites32 needs a folder of photographs, and {folder} holds none: photo-sprites32:photos=FOLDER"
        )
    held = open_files("photos", files, size=32, channels=3)
    return PhotoSprites(load_sprites32(), held, visibility=visibility, mode=mode, fixed=fixed)

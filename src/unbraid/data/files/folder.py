"""A folder of image files as a data set."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.data.arrays import ArrayImages, ArrayLabels, Held, HeldArray
from unbraid.data.dataset import Card, ImageDataset, Shape
from unbraid.data.files.store import render_store
from unbraid.data.files.survey import SYNTAX, Decoded, Look, sound_files
from unbraid.errors import UsageError
from unbraid.paths import check_path, user_path
from unbraid.progress import Progress
from unbraid.reading import open_image

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["from_folder", "image_files", "open_files", "read_image"]

_SUFFIXES = frozenset((".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm", ".pbm"))
_GREY = frozenset(("1", "L", "LA", "I", "I;16", "F"))
_IN_MEMORY = 1 << 28


def from_folder(
    path: str | Path,
    *,
    size: int | tuple[int, int] | None = None,
    channels: int | None = None,
    background: str = "white",
    skip_bad: bool = False,
) -> ImageDataset:
    """A data set from the image files in a folder, in the order of their names.

    Images directly in the folder are an :class:`ImageDataset`; when they lie in sub-folders, each sub-folder is a class
    of a :class:`LabelledDataset`. ``size`` (one number, or height and width) is needed when the files differ in size:
    each is cropped in the middle to that shape and shrunk or enlarged. ``channels`` is 1 or 3; unless given, 1 when
    all files are grey. All files that cannot be read, or have not the commonest size where none is given, are named and
    refused together; ``skip_bad`` leaves them out and says so on the card. Transparent pictures are laid on a
    ``background``, white or black; EXIF orientation is ignored.
    Small sets are kept in memory, large ones under the data root. A file is decoded once, beyond the first 256 MB of
    pictures twice: to find all that is bad, and to be read. Of so large a folder what was found is remembered under
    the data root, so that it is opened at once as long as names, sizes and times of its files stay the same.
    """
    path = user_path(path, "folder")
    if not path.is_dir():
        raise UsageError(f"no folder {path}")
    folders = sorted(child for child in path.iterdir() if child.is_dir() and not child.name.startswith("."))
    direct = image_files(path)
    options: dict[str, Any] = {"size": size, "channels": channels, "background": background}
    groups = {folder.name: files for folder in folders if (files := image_files(folder))}
    for name in groups:
        check_path(path / name, "class")
    if not direct and not groups:
        raise UsageError(
            f"{path} holds no images, neither directly nor in sub-folders ({', '.join(sorted(_SUFFIXES))})"
        )
    files = direct or [file for group in groups.values() for file in group]
    decoded = Decoded()
    looks, left_out = sound_files(path.name, files, decoded, sized=size is not None, skip_bad=skip_bad)
    files = list(looks)
    card = Card(path.name, source=str(path), traps=(f"left out: {left_out}",) if left_out else ())
    held = open_files(path.name, files, **options, decoded=decoded, looks=looks)
    if direct:
        return ArrayImages(held, name=path.name, card=card)
    classes = [name for name in groups if any(file.parent.name == name for file in files)]
    labels = np.array([classes.index(file.parent.name) for file in files])
    return ArrayLabels(held, labels, classes, name=path.name, card=card)


def image_files(folder: Path) -> list[Path]:
    """The image files directly in a folder, sorted by name."""
    return sorted(f for f in folder.iterdir() if f.suffix.lower() in _SUFFIXES and not f.name.startswith("."))


def open_files(
    name: str,
    files: Sequence[Path],
    *,
    size: int | tuple[int, int] | None = None,
    channels: int | None = None,
    crop: int | None = None,
    background: str = "white",
    decoded: Decoded | None = None,
    looks: Mapping[Path, Look] | None = None,
) -> Held:
    """Decoded images of these files, in memory or, when there are many, in a store under the data root.

    ``decoded`` and ``looks`` are what a survey of the files has kept.
    """
    if channels not in (None, 1, 3):
        raise UsageError(f"channels must be 1 or 3, got {channels}")
    if background not in ("white", "black"):
        raise UsageError(f"background must be white or black, got {background!r}")
    shape = _common_shape(files, size, channels, looks or {})

    def read(k: int) -> np.ndarray:
        kept = None if decoded is None else decoded.take(files[k])
        if kept is None:
            return read_image(files[k], shape, crop, background)
        return _fitted(kept, shape, crop, background)

    def render(index: np.ndarray) -> np.ndarray:
        return np.stack([read(k) for k in index])

    if len(files) * prod(shape) <= _IN_MEMORY:
        pixels = np.empty((len(files), *shape), dtype=np.uint8)
        with Progress(f"reading {name}", len(files), unit="images", brief=True) as progress:
            for k in range(len(files)):
                pixels[k] = read(k)
                progress.advance(1)
        return HeldArray(pixels)
    digest = hashlib.sha256(repr((shape, crop, background)).encode())
    for file in files:
        status = file.stat()
        digest.update(os.fsencode(file.name) + f"\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    label = f"own/{name}-{digest.hexdigest()[:12]}"
    return render_store(label, count=len(files), shape=shape, render=render, chunk=_at_once(shape))


def _at_once(shape: Shape) -> int:
    """How many images are decoded at a time: by their bytes, as few of them may be large."""
    return max(1, min(256, (1 << 26) // prod(shape)))


def read_image(file: Path, shape: Shape, crop: int | None = None, background: str = "white") -> np.ndarray:
    """One image as uint8 ``[h, w, c]``; ``crop`` first cuts a square of that many pixels out of the middle."""
    with open_image(file) as opened:
        return _fitted(opened, shape, crop, background)


def _fitted(image: "Image", shape: Shape, crop: int | None, background: str) -> np.ndarray:
    from PIL import Image

    height, width, channels = shape
    image = _flatten(image, channels, background)
    if crop is not None:
        image = _middle(image, crop, crop)
    if image.size != (width, height):
        # Cut to the wanted proportions first, so that nothing is squeezed.
        scale = min(image.width / width, image.height / height)
        image = _middle(image, round(width * scale), round(height * scale))
        image = image.resize((width, height), Image.Resampling.LANCZOS)
    return np.asarray(image).reshape(shape)


def _flatten(image: "Image", channels: int, background: str) -> "Image":
    from PIL import Image

    mode = "L" if channels == 1 else "RGB"
    if image.mode.startswith("I;16") or image.mode == "I":
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8)).convert(mode)
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, background), image).convert(mode)
    return image.convert(mode)


def _middle(image: "Image", width: int, height: int) -> "Image":
    left, top = (image.width - width) // 2, (image.height - height) // 2
    return image.crop((left, top, left + width, top + height))


def _common_shape(
    files: Sequence[Path], size: int | tuple[int, int] | None, channels: int | None, looks: Mapping[Path, Look]
) -> Shape:
    """The shape all images will have; only file headers are read, and none at all when the caller says everything."""
    if size is not None:
        sides = (size, size) if isinstance(size, int) else tuple(size)
        if len(sides) != 2 or min(sides) < 1:
            raise UsageError(f"size must be one positive number, or height and width; got {size}")
        height, width = sides
        if channels is not None:
            return height, width, channels
    sizes: dict[tuple[int, int], Path] = {}
    grey = True
    for file in files:
        *extent, mode = looks.get(file) or _look(file)
        sizes.setdefault((extent[0], extent[1]), file)
        grey = grey and mode in _GREY
    if size is None:
        if len(sizes) > 1:
            (first, one), (second, other) = list(sizes.items())[:2]
            raise UsageError(
                f"images differ in size: {one.name} is {first[0]}x{first[1]}, {other.name} is {second[0]}x{second[1]}; "
                f"give size=, for example size=64 ({SYNTAX})"
            )
        ((width, height),) = sizes
    return height, width, channels or (1 if grey else 3)


def _look(file: Path) -> Look:
    with open_image(file) as image:
        return (*image.size, image.mode)

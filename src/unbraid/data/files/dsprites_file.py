"""The published dSprites archive: read as a stream, and compared with what is rendered here.

The archive holds 3 GB of pixels and a pickled ``metadata`` member. The pixels are decompressed front to back, a few
thousand images at a time; the pickle is never touched.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data.files.npz import array_names, read_array, stream_rows
from unbraid.data.files.store import ImageStore, render_store
from unbraid.data.render.sprite_render import SPACE, render_sprites
from unbraid.data.space import FactorSpace
from unbraid.errors import UsageError
from unbraid.reading import open_zip

__all__ = ["DSpritesFile", "compare_dsprites"]

CHUNK = 4096


class DSpritesFile:
    """An npz with ``imgs`` ``[n, size, size]`` and ``latents_classes`` ``[n, 1 + K]`` in the order of ``space``.

    The first column of the latents is the colour, which is always white.
    """

    def __init__(self, path: str | Path, space: FactorSpace = SPACE, size: int = 64) -> None:
        self.path, self.space, self.size = Path(path), space, size
        self._require("imgs", (len(space), size, size), "uint8")
        self._require("latents_classes", (len(space), 1 + len(space.sizes)), "int")

    def _require(self, name: str, shape: tuple[int, ...], kind: str) -> None:
        with stream_rows(self.path, name) as rows:
            if rows.shape != shape or not rows.dtype.name.startswith(kind):
                raise UsageError(
                    f"{self.path} is no dSprites archive: its {name!r} is {rows.dtype} {rows.shape}, "
                    f"expected {kind} {shape}"
                )

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that depend on the pixels and the latents, from the archive's own checksums."""
        with open_zip(self.path) as archive:
            return "".join(f"{archive.getinfo(name).CRC:08x}" for name in ("imgs.npy", "latents_classes.npy"))

    def store(self) -> ImageStore:
        """The archive's images as a store, converted at the first call."""
        chunks: Iterator[np.ndarray] | None = None

        def convert(_: np.ndarray) -> np.ndarray:
            nonlocal chunks
            if chunks is None:
                self.check_order()
                chunks = self.chunks()
            return next(chunks)

        return render_store(
            f"dsprites/official-{self.fingerprint}",
            count=len(self.space),
            shape=(self.size, self.size, 1),
            render=convert,
            binary=True,
            chunk=CHUNK,
        )

    def check_order(self) -> None:
        """Raise unless image ``i`` has the factor values ``space.factors([i])``."""
        with stream_rows(self.path, "latents_classes") as rows:
            for index in self._indices():
                latents = rows(len(index))
                wrong = (latents[:, 1:] != self.space.factors(index)).any(axis=1) | (latents[:, 0] != 0)
                if wrong.any():
                    first = int(wrong.argmax())
                    expected = [0, *self.space.factors(index[first : first + 1])[0].tolist()]
                    raise UsageError(
                        f"{self.path}: image {index[first]} has latents_classes {latents[first].tolist()}, expected "
                        f"{expected} (colour, {', '.join(self.space.names)}; the last changes fastest)"
                    )

    def chunks(self) -> Iterator[np.ndarray]:
        """The images in order, as packed bits uint8 ``[n, size * size / 8]``."""
        with stream_rows(self.path, "imgs") as rows:
            for index in self._indices():
                images = rows(len(index))
                if images.max() > 1:
                    raise UsageError(f"{self.path}: 'imgs' holds the value {images.max()}, expected only 0 and 1")
                yield np.packbits(images.reshape(len(index), -1), axis=1)

    def _indices(self) -> Iterator[np.ndarray]:
        for start in range(0, len(self.space), CHUNK):
            yield np.arange(start, min(start + CHUNK, len(self.space)))


def compare_dsprites(file: str | Path) -> dict[str, Any]:
    """Compare the images in a file with the rendered ones of the same factors.

    ``file`` is the published archive, or any npz with pairs of arrays ``NAME_images`` ``[n, 64, 64]`` (0 and 1) and
    ``NAME_latents`` ``[n, 5]``. Returns ``images`` compared, ``differing_images``, ``differing_pixels`` and the
    ``first`` ten differing positions in the full grid.
    """
    path = Path(file)
    images = differing_images = differing_pixels = 0
    first: list[int] = []
    for index, rows in _rows(path):
        pixels = np.unpackbits(rows ^ render_sprites(SPACE.factors(index)), axis=1).sum(axis=1, dtype=np.int64)
        images += len(index)
        differing_images += int((pixels > 0).sum())
        differing_pixels += int(pixels.sum())
        first += index[pixels > 0][: 10 - len(first)].tolist()
    return {
        "images": images,
        "differing_images": differing_images,
        "differing_pixels": differing_pixels,
        "first": first,
    }


def _rows(path: Path) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Positions in the grid and packed images of a file, a part at a time."""
    names = array_names(path)
    pairs = [(name, name.removesuffix("images") + "latents") for name in names if name.endswith("_images")]
    if "imgs" in names:
        official = DSpritesFile(path)
        official.check_order()
        yield from zip(official._indices(), official.chunks(), strict=True)
    elif pairs and all(latents in names for _, latents in pairs):
        for images, latents in pairs:
            pixels = read_array(path, images)
            if pixels.dtype != np.uint8 or pixels.shape[1:] != (64, 64):
                raise UsageError(f"{path}: {images!r} is {pixels.dtype} {pixels.shape}, expected uint8 (n, 64, 64)")
            yield SPACE.index(read_array(path, latents)), np.packbits(pixels.reshape(len(pixels), -1), axis=1)
    else:
        raise UsageError(
            f"{path} holds {', '.join(names) or 'nothing'}; expected 'imgs' and 'latents_classes' as in the published "
            "dSprites, or pairs of 'NAME_images' and 'NAME_latents'"
        )

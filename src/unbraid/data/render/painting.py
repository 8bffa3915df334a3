"""The picture behind scream-dsprites: a file of one's own, or an invented painting, the same on every machine."""

from functools import cache
from pathlib import Path

import numpy as np

from unbraid.errors import UsageError
from unbraid.reading import open_image

__all__ = ["background_picture", "invented_painting"]

HEIGHT, WIDTH = 274, 350
"""The largest background; larger pictures are shrunk to fit."""


def background_picture(source: str | Path | np.ndarray | None, smallest: int = 65) -> np.ndarray:
    """The background uint8 ``[h, w, 3]``: the invented painting, a picture file, or an array of that form.

    A file is shrunk to fit 350 x 274 (width x height), but no side below ``smallest``, which every picture must have.
    """
    if source is None:
        return invented_painting()
    if isinstance(source, np.ndarray):
        if source.ndim != 3 or source.shape[2] != 3 or source.dtype != np.uint8:
            raise UsageError(f"background must be uint8 [h, w, 3] or a file, got {source.dtype} {source.shape}")
        picture = source
    else:
        picture = _read(Path(source), smallest)
    if min(picture.shape[:2]) < smallest:
        raise UsageError(
            f"background {'array' if isinstance(source, np.ndarray) else source} is {picture.shape[1]} x "
            f"{picture.shape[0]} pixels; crops are taken from it, so it needs at least {smallest} x {smallest}"
        )
    return picture


def _read(path: Path, smallest: int) -> np.ndarray:
    from PIL import Image

    with open_image(path, "give another picture as background") as file:
        picture = file.convert("RGB")
    shrink = max(min(WIDTH / picture.width, HEIGHT / picture.height), smallest / min(picture.size))
    if shrink < 1:
        size = (round(picture.width * shrink), round(picture.height * shrink))
        picture = picture.resize(size, Image.Resampling.LANCZOS)
    return np.asarray(picture)


@cache
def invented_painting() -> np.ndarray:
    """Swirling strokes of a burning sky over a dark bay and a brown bank: uint8 ``[274, 350, 3]``.

    Only raw bits of a counter-based generator and additions, multiplications and floors go into it, all of which are
    exact by standard, so every machine paints the same bytes.
    """
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH] / 64.0
    layer = iter(range(100))

    def noise(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return _smooth_noise(x, y, next(layer))

    bend = noise(x * 0.8, y * 0.8), noise(x * 0.8, y * 0.8)
    u, v = x + 1.6 * (bend[0] - 0.5), y + 1.6 * (bend[1] - 0.5)
    sky = _palette(
        noise(u * 0.5, v * 3.0) * 0.7 + _wave(v * 1.9 + 0.2 * u) * 0.3,
        ((150, 45, 25), (214, 92, 36), (236, 160, 62), (232, 196, 130), (128, 142, 150), (222, 110, 48)),
    )
    bay = _palette(
        noise(u * 0.9, v * 2.2) * 0.7 + _wave(0.9 * u + 1.3 * v) * 0.3,
        ((22, 28, 52), (38, 58, 96), (66, 104, 128), (150, 160, 120), (44, 52, 70)),
    )
    bank = _palette(
        noise(u * 2.5 + v, v * 0.9 - 0.5 * u) * 0.75 + _wave(1.5 * u + 0.8 * v) * 0.25,
        ((58, 34, 28), (112, 66, 40), (160, 104, 62), (86, 62, 66), (186, 142, 96)),
    )
    horizon = _step((v - 1.9 - 0.5 * noise(x * 0.6, y * 0.6)) * 2.5)
    shore = _step((y + 0.55 * x - 4.9 + 0.8 * (bend[0] - 0.5)) * 3.0)
    colours = sky + (bay - sky) * horizon[..., None]
    colours = colours + (bank - colours) * shore[..., None]
    strokes = noise(u * 6.0 + v * 3.0, v * 22.0) + 0.6 * noise(x * 25.0, y * 25.0) - 0.8
    return np.clip(np.floor(colours + 44.0 * strokes[..., None] + 0.5), 0, 255).astype(np.uint8)


def _smooth_noise(x: np.ndarray, y: np.ndarray, layer: int) -> np.ndarray:
    """Smoothly interpolated random values in [0, 1] with one lattice point per unit of ``x`` and ``y``."""
    lattice = np.random.Philox(key=np.array([1893, layer], dtype=np.uint64)).random_raw(256 * 256)
    values = (lattice >> np.uint64(40)).astype(np.float64).reshape(256, 256) / 2.0**24
    column, row = np.floor(x), np.floor(y)
    s, t = _step(x - column), _step(y - row)
    i, j = column.astype(np.int64) % 256, row.astype(np.int64) % 256
    along = [values[(j + down) % 256, i] * (1 - s) + values[(j + down) % 256, (i + 1) % 256] * s for down in (0, 1)]
    return along[0] * (1 - t) + along[1] * t


def _step(t: np.ndarray) -> np.ndarray:
    """From 0 to 1 with level ends."""
    t = np.clip(t, 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def _wave(t: np.ndarray) -> np.ndarray:
    """A smooth wave between 0 and 1 of period 1."""
    t = t - np.floor(t)
    return _step(2.0 * np.minimum(t, 1.0 - t))


def _palette(t: np.ndarray, colours: tuple[tuple[int, int, int], ...]) -> np.ndarray:
    """Colours ``[..., 3]`` along a row of them, for ``t`` in [0, 1]."""
    row = np.array(colours, dtype=np.float64)
    place = np.clip(t, 0.0, 1.0) * (len(row) - 1)
    left = np.minimum(np.floor(place).astype(np.int64), len(row) - 2)
    return row[left] + (place - left)[..., None] * (row[left + 1] - row[left])

"""Centre and area of binary masks that are packed eight pixels to the byte."""

from collections.abc import Sequence

import numpy as np

from unbraid.compiled import compiled
from unbraid.data.dataset import Shape

__all__ = ["PackedMasks", "measure"]

_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int64)
_COUNT, _OFFSET = _BITS.sum(axis=1), _BITS @ np.arange(8)
"""For each byte: its pixels, and the sum of their places in it."""


class PackedMasks:
    """Black and white images ``[n, height, width]`` at one bit per pixel; ``width`` is a multiple of 8."""

    def __init__(self, rows: np.ndarray, height: int = 64, width: int = 64) -> None:
        self.rows = rows
        self.shape: Shape = (height, width, 1)

    def __len__(self) -> int:
        return len(self.rows)

    def images(self, index: np.ndarray | Sequence[int]) -> np.ndarray:
        """The masks at these positions, uint8 ``[n, h, w, 1]``, 0 and 255."""
        pixels = np.unpackbits(self.rows[index], axis=1)
        np.negative(pixels, out=pixels)  # 1 becomes 255 modulo 256
        return pixels.reshape(len(index), *self.shape)


def measure(rows: np.ndarray, height: int = 64, width: int = 64) -> np.ndarray:
    """Centre of mass x and y (pixel k counts as k) and area in pixels of packed masks: ``[n, 3]``.

    The centre of an empty mask is NaN.

    >>> mask = np.zeros((1, 64, 64), bool)
    >>> mask[0, 10:12, 20:24] = True
    >>> measure(np.packbits(mask.reshape(1, -1), axis=1))
    array([[21.5, 10.5,  8. ]])
    """
    sums = np.zeros((len(rows), 3), dtype=np.int64)
    _sum(rows.reshape(len(rows), height, width // 8), _COUNT, _OFFSET, sums)
    with np.errstate(invalid="ignore"):
        return np.stack([sums[:, 0] / sums[:, 2], sums[:, 1] / sums[:, 2], sums[:, 2]], axis=1)


@compiled
def _sum(packed: np.ndarray, count: np.ndarray, offset: np.ndarray, sums: np.ndarray) -> None:
    """Sums of x and of y over the white pixels, and their number."""
    for image in range(packed.shape[0]):
        for row in range(packed.shape[1]):
            for column in range(packed.shape[2]):
                byte = packed[image, row, column]
                if byte:
                    sums[image, 0] += 8 * column * count[byte] + offset[byte]
                    sums[image, 1] += row * count[byte]
                    sums[image, 2] += count[byte]

"""Centre and area of binary masks that are packed eight pixels to the byte."""

import numpy as np

__all__ = ["PackedMasks", "measure"]

_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
_COUNT = _BITS.sum(axis=1).astype(np.float32)
_OFFSET = (_BITS * np.arange(8)).sum(axis=1).astype(np.float32)


class PackedMasks:
    """Black and white images ``[n, height, width]`` at one bit per pixel; ``width`` is a multiple of 8."""

    def __init__(self, rows: np.ndarray, height: int = 64, width: int = 64) -> None:
        self.rows, self.shape = rows, (height, width, 1)

    def __len__(self) -> int:
        return len(self.rows)

    def images(self, index: np.ndarray) -> np.ndarray:
        """The masks at these positions, uint8 ``[n, h, w, 1]``, 0 and 255."""
        pixels = np.unpackbits(self.rows[index], axis=1)
        np.negative(pixels, out=pixels)  # 1 becomes 255 modulo 256
        return pixels.reshape(len(index), *self.shape)


def measure(rows: np.ndarray, height: int = 64, width: int = 64, chunk: int = 8192) -> np.ndarray:
    """Centre of mass x and y (pixel k counts as k) and area in pixels of packed masks: ``[n, 3]``.

    The centre of an empty mask is NaN.

    >>> mask = np.zeros((1, 64, 64), bool)
    >>> mask[0, 10:12, 20:24] = True
    >>> measure(np.packbits(mask.reshape(1, -1), axis=1))
    array([[21.5, 10.5,  8. ]])
    """
    found = np.empty((len(rows), 3))
    columns = np.arange(0, width, 8, dtype=np.float32)
    for start in range(0, len(rows), chunk):
        packed = rows[start : start + chunk].reshape(-1, height, width // 8)
        count = _COUNT[packed]
        area = count.sum(axis=(1, 2))
        across = count.sum(axis=1) @ columns + _OFFSET[packed].sum(axis=(1, 2))
        down = count.sum(axis=2) @ np.arange(height, dtype=np.float32)
        with np.errstate(invalid="ignore"):
            found[start : start + chunk] = np.stack([across / area, down / area, area], axis=1)
    return found

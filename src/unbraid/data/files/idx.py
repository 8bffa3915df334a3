"""The idx format of MNIST and its relatives, plain or gzipped."""

from math import prod
from pathlib import Path

import numpy as np

from unbraid.errors import UsageError
from unbraid.reading import open_gzip, take

__all__ = ["read_idx"]

_UNSIGNED_BYTE = 0x08
LARGEST = 1 << 30
"""Most bytes of an array; the largest published one has 55 MB."""


def read_idx(path: Path, dims: int) -> np.ndarray:
    """The uint8 array of an idx file: two zero bytes, the type, the number of dimensions, big-endian sizes, data."""
    with open_gzip(path) as file:
        head = file.read(4 + 4 * dims)
        if len(head) < 4 + 4 * dims or head[:4] != bytes((0, 0, _UNSIGNED_BYTE, dims)):
            raise UsageError(
                f"{path} is no idx file of bytes with {dims} dimensions: it begins with {head[:4].hex(' ')}"
            )
        shape = tuple(int(size) for size in np.frombuffer(head, ">i4", dims, offset=4))
        promised = " x ".join(map(str, shape))
        if min(shape) < 0 or prod(shape) > LARGEST:
            raise UsageError(f"{path} promises {promised} bytes, which no such file has; get the file anew")
        data = take(file, prod(shape) + 1)
        if len(data) != prod(shape):
            held = "more" if len(data) > prod(shape) else f"{len(data):,}"
            raise UsageError(f"{path} promises {promised} bytes but holds {held}; get the file anew")
    return np.frombuffer(data, np.uint8).reshape(shape)

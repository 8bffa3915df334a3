"""The idx format of MNIST and its relatives, plain or gzipped."""

import gzip
import zlib
from math import prod
from pathlib import Path

import numpy as np

from unbraid.errors import UsageError

__all__ = ["read_idx"]

_UNSIGNED_BYTE = 0x08


def read_idx(path: Path, dims: int) -> np.ndarray:
    """The uint8 array of an idx file: two zero bytes, the type, the number of dimensions, big-endian sizes, data."""
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"cannot read {path} ({error}); get the file anew") from error
    if len(data) < 4 + 4 * dims or data[:4] != bytes((0, 0, _UNSIGNED_BYTE, dims)):
        raise UsageError(f"{path} is no idx file of bytes with {dims} dimensions: it begins with {data[:4].hex(' ')}")
    shape = tuple(int(size) for size in np.frombuffer(data, ">i4", dims, offset=4))
    start = 4 + 4 * dims
    if len(data) - start != prod(shape):
        raise UsageError(
            f"{path} promises {' x '.join(map(str, shape))} bytes but holds {len(data) - start:,}; get the file anew"
        )
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)

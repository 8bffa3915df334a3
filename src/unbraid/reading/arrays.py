"""Arrays of npy and npz files, without running code from them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import IO, TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.reading.opening import AGAIN, WHOLE, open_file, open_zip, take, understood

if TYPE_CHECKING:
    import numpy as np

__all__ = ["read_arrays", "read_header", "read_member", "read_npy"]


def read_header(
    file: IO[bytes], path: str | Path, size: int, remedy: str = AGAIN
) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, column order and type of the npy array that begins here and has ``size`` bytes with its header."""
    import numpy as np

    with understood(path, remedy):
        version = np.lib.format.read_magic(file)
        reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = reader(file)
        if dtype.hasobject:
            raise UsageError(f"{path} holds Python objects; reading them would run code from the file. Save numbers")
        if any(side < 0 for side in shape):
            raise UsageError(f"{path} promises the shape {shape}; {remedy}")
        promised = prod(shape) * dtype.itemsize
        if promised != size - file.tell():
            raise UsageError(
                f"{path} is cut short or damaged: it promises {promised:,} bytes of numbers and holds "
                f"{max(size - file.tell(), 0):,}; {remedy}"
            )
        return shape, fortran, dtype


def read_member(file: IO[bytes], path: str | Path, size: int) -> np.ndarray:
    """The npy array that begins here, if it is not too large to be held in memory."""
    import numpy as np

    shape, fortran, dtype = read_header(file, path, size)
    wanted = prod(shape) * dtype.itemsize
    if wanted > WHOLE:
        raise UsageError(
            f"{path} unpacks to {wanted:,} bytes, at most {WHOLE:,} are held in memory; save it with np.savez, not "
            "savez_compressed, to have it read from the disk"
        )
    with understood(path):
        data = take(file, wanted)
        if len(data) != wanted:
            raise UsageError(f"{path} is cut short; {AGAIN}")
        return np.frombuffer(bytearray(data), dtype).reshape(shape, order="F" if fortran else "C")


def read_npy(path: Path, *, remedy: str = AGAIN) -> np.ndarray:
    """The array of an npy file."""
    with open_file(path, remedy) as file:
        return read_member(file, path, os.fstat(file.fileno()).st_size)


def read_arrays(
    path: Path, names: Sequence[str] | None = None, *, limit: int = WHOLE, remedy: str = AGAIN
) -> dict[str, np.ndarray]:
    """All arrays of an npz file, or those of these names, of at most ``limit`` bytes together."""
    found: dict[str, np.ndarray] = {}
    with open_zip(path, remedy) as archive:
        sizes = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        chosen = sizes if names is None else names
        total = sum(sizes[name].file_size for name in chosen if name in sizes)
        if total > limit:
            raise UsageError(f"{path} unpacks to {total:,} bytes, at most {limit:,} are held in memory; {remedy}")
        for name in chosen:
            if name not in sizes:
                raise UsageError(f"{path} holds no array {name!r}, only: {', '.join(sizes) or 'nothing'}; {remedy}")
            with archive.open(sizes[name]) as member:
                found[name] = read_member(member, f"array {name!r} of {path}", sizes[name].file_size)
                member.read(1)  # the end, where the checksum is compared
    return found

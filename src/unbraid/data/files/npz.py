"""Arrays out of an npz archive without unpickling and, where the archive allows, without copying."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO

import numpy as np

from unbraid.errors import UsageError
from unbraid.reading import open_file, open_zip, read_header, read_member, take, understood

__all__ = ["Rows", "array_header", "array_names", "is_large", "read_array", "stream_rows"]


def array_names(path: Path) -> list[str]:
    """The names of the arrays in the archive."""
    with open_zip(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]


def array_header(path: Path, name: str) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type of one array; its data is not read."""
    with open_zip(path) as archive, _member(archive, name, path) as (member, info):
        shape, _, dtype = read_header(member, _words(path, name), info.file_size)
        return shape, dtype


def read_array(path: Path, name: str) -> np.ndarray:
    """One array: a memory map when the archive holds it uncompressed (as ``np.savez`` writes it), else read whole."""
    with open_zip(path) as archive, _member(archive, name, path) as (member, info):
        shape, fortran, dtype = read_header(member, _words(path, name), info.file_size)
        if info.compress_type == zipfile.ZIP_STORED and info.file_size > 1 << 20:
            start = _data_start(path, info) + member.tell()
            if start + prod(shape) * dtype.itemsize > path.stat().st_size:
                raise UsageError(f"{path} is cut short: array {name!r} reaches beyond its end; get the file anew")
            return np.memmap(path, dtype, "r", start, shape, order="F" if fortran else "C")
        member.seek(0)
        return read_member(member, _words(path, name), info.file_size)


def is_large(path: Path, name: str, limit: int = 1 << 28) -> bool:
    """Whether :func:`read_array` would take more than ``limit`` bytes of memory for bytes or bits."""
    with open_zip(path) as archive, _member(archive, name, path) as (member, info):
        _, fortran, dtype = read_header(member, _words(path, name), info.file_size)
        packed = info.compress_type != zipfile.ZIP_STORED
        return packed and not fortran and dtype.itemsize == 1 and info.file_size > limit


@dataclass(frozen=True)
class Rows:
    """The rows of one array, front to back: call it with how many come next."""

    path: Path
    shape: tuple[int, ...]
    dtype: np.dtype
    file: IO[bytes]

    def __call__(self, count: int) -> np.ndarray:
        wanted = count * prod(self.shape[1:]) * self.dtype.itemsize
        with understood(self.path):
            data = take(self.file, wanted)
        if len(data) != wanted:
            raise UsageError(f"{self.path} is cut short: it promises {self.shape[0]:,} rows; get the file anew")
        return np.frombuffer(data, self.dtype).reshape(count, *self.shape[1:])


@contextmanager
def stream_rows(path: Path, name: str) -> Iterator[Rows]:
    """The rows of one array that may be larger than memory; the archive is decompressed once, front to back."""
    with open_zip(path) as archive, _member(archive, name, path) as (member, info):
        shape, fortran, dtype = read_header(member, _words(path, name), info.file_size)
        if fortran:
            raise UsageError(f"array {name!r} of {path} is stored column by column; save it in C order")
        yield Rows(path, shape, dtype, member)


@contextmanager
def _member(archive: zipfile.ZipFile, name: str, path: Path) -> Iterator[tuple[IO[bytes], zipfile.ZipInfo]]:
    if f"{name}.npy" not in archive.namelist():
        found = ", ".join(member.removesuffix(".npy") for member in archive.namelist()) or "nothing"
        raise UsageError(f"{path} holds no array {name!r}, only: {found}")
    info = archive.getinfo(f"{name}.npy")
    with archive.open(info) as member:
        yield member, info


def _words(path: Path, name: str) -> str:
    return f"array {name!r} of {path}"


def _data_start(path: Path, info: zipfile.ZipInfo) -> int:
    """Where the member's bytes begin: after its local header, whose name and extra field have their own lengths."""
    with open_file(path) as file:
        file.seek(info.header_offset)
        header = file.read(30)
    return info.header_offset + 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")

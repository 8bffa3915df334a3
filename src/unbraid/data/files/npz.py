"""Arrays out of an npz archive without unpickling and, where the archive allows, without copying."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO

import numpy as np

from unbraid.errors import UsageError

__all__ = ["Rows", "array_header", "array_names", "is_large", "read_array", "stream_rows"]

_BROKEN = (zipfile.BadZipFile, zlib.error, OSError, ValueError, EOFError, NotImplementedError, KeyError)


def array_names(path: Path) -> list[str]:
    """The names of the arrays in the archive."""
    with _opened(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]


def array_header(path: Path, name: str) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type of one array; its data is not read."""
    with _opened(path) as archive, _member(archive, name, path) as member:
        shape, _, dtype = _header(member, path, name)
        return shape, dtype


def read_array(path: Path, name: str) -> np.ndarray:
    """One array: a memory map when the archive holds it uncompressed (as ``np.savez`` writes it), else read whole."""
    with _opened(path) as archive, _member(archive, name, path) as member:
        shape, fortran, dtype = _header(member, path, name)
        info = archive.getinfo(f"{name}.npy")
        if info.compress_type == zipfile.ZIP_STORED and info.file_size > 1 << 20:
            start = _data_start(path, info) + member.tell()
            if start + prod(shape) * dtype.itemsize > path.stat().st_size:
                raise UsageError(f"{path} is cut short: array {name!r} reaches beyond its end; get the file anew")
            return np.memmap(path, dtype, "r", start, shape, order="F" if fortran else "C")
        member.seek(0)
        return np.lib.format.read_array(member, allow_pickle=False)


def is_large(path: Path, name: str, limit: int = 1 << 28) -> bool:
    """Whether :func:`read_array` would take more than ``limit`` bytes of memory for bytes or bits."""
    with _opened(path) as archive, _member(archive, name, path) as member:
        _, fortran, dtype = _header(member, path, name)
        info = archive.getinfo(f"{name}.npy")
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
        try:
            data = self.file.read(wanted)
        except _BROKEN as error:
            raise _damaged(self.path, error) from error
        if len(data) != wanted:
            raise UsageError(f"{self.path} is cut short: it promises {self.shape[0]:,} rows; get the file anew")
        return np.frombuffer(data, self.dtype).reshape(count, *self.shape[1:])


@contextmanager
def stream_rows(path: Path, name: str) -> Iterator[Rows]:
    """The rows of one array that may be larger than memory; the archive is decompressed once, front to back."""
    with _opened(path) as archive, _member(archive, name, path) as member:
        shape, fortran, dtype = _header(member, path, name)
        if fortran:
            raise UsageError(f"array {name!r} of {path} is stored column by column; save it in C order")
        yield Rows(path, shape, dtype, member)


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except UsageError:
        raise
    except FileNotFoundError as error:
        raise UsageError(f"no file {path}") from error
    except _BROKEN as error:
        raise _damaged(path, error) from error


@contextmanager
def _member(archive: zipfile.ZipFile, name: str, path: Path) -> Iterator[IO[bytes]]:
    if f"{name}.npy" not in archive.namelist():
        found = ", ".join(member.removesuffix(".npy") for member in archive.namelist()) or "nothing"
        raise UsageError(f"{path} holds no array {name!r}, only: {found}")
    with archive.open(f"{name}.npy") as member:
        yield member


def _header(member: IO[bytes], path: Path, name: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = np.lib.format.read_magic(member)
    reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = reader(member)
    if dtype.hasobject:
        raise UsageError(
            f"array {name!r} of {path} holds Python objects; reading them would run code from the file. "
            "Save it as numbers"
        )
    return shape, fortran, dtype


def _data_start(path: Path, info: zipfile.ZipInfo) -> int:
    """Where the member's bytes begin: after its local header, whose name and extra field have their own lengths."""
    with path.open("rb") as file:
        file.seek(info.header_offset)
        header = file.read(30)
    return info.header_offset + 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")


def _damaged(path: Path, error: Exception) -> UsageError:
    return UsageError(f"{path} is no whole npz archive ({error}); get the file anew")

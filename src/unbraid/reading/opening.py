"""Ordinary files and archives, opened so that whatever is wrong with them ends in one error that names them."""

from __future__ import annotations

import contextlib
import csv
import gzip
import os
import stat
import tarfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from unbraid.errors import UsageError

__all__ = ["AGAIN", "WHOLE", "open_file", "open_gzip", "open_tar", "open_zip", "read_bytes", "take", "understood"]

AGAIN = "get the file anew"
WHOLE = 1 << 30
"""Most bytes of an array that is held in memory."""

_FAULTS = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    EOFError,
    ArithmeticError,
    RecursionError,
    RuntimeError,
    SyntaxError,
    MemoryError,
    zlib.error,
    csv.Error,
    zipfile.BadZipFile,
    tarfile.TarError,
    tokenize.TokenError,  # numpy, of the header of an array
)


@contextlib.contextmanager
def understood(path: str | Path, remedy: str = AGAIN) -> Iterator[None]:
    """Turn whatever goes wrong while a file's content is made sense of into one error that names it."""
    try:
        yield
    except UsageError:
        raise
    except FileNotFoundError as error:
        raise UsageError(f"no file {path}") from error
    except _FAULTS as error:
        words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        kind = "" if isinstance(error, OSError) else f"{type(error).__name__}: "
        words = " ".join(words.split())
        raise UsageError(f"{path} cannot be read ({kind}{words[:300]}); {remedy}") from error


@contextlib.contextmanager
def open_file(path: Path, remedy: str = AGAIN) -> Iterator[IO[bytes]]:
    """Open an ordinary file (links to one are followed); a pipe, a device or a folder is refused at once."""
    with understood(path, remedy):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UsageError(f"{path} is no ordinary file; {remedy}")
            yield file


def read_bytes(path: Path, *, limit: int = WHOLE, remedy: str = AGAIN) -> bytes:
    """All of a file that has at most ``limit`` bytes."""
    with open_file(path, remedy) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise UsageError(f"{path} has {size:,} bytes, at most {limit:,} are read; {remedy}")
        return take(file, size)


def take(file: IO[bytes], count: int) -> bytes:
    """At most so many bytes, with memory for those that are there and not for those that were promised."""
    blocks: list[bytes] = []
    while count > 0 and (block := file.read(min(count, 1 << 20))):
        blocks.append(block)
        count -= len(block)
    return b"".join(blocks)


@contextlib.contextmanager
def open_gzip(path: Path, remedy: str = AGAIN) -> Iterator[IO[bytes]]:
    """A file, unpacked while it is read if it is gzipped. Read as much as the content promises, never all there is."""
    with open_file(path, remedy) as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if not packed:
            yield file
            return
        with gzip.GzipFile(fileobj=file) as unpacked:
            yield unpacked  # type: ignore[misc]


@contextlib.contextmanager
def open_tar(path: Path, remedy: str = AGAIN) -> Iterator[tarfile.TarFile]:
    """An archive read front to back."""
    with open_file(path, remedy) as file, tarfile.open(fileobj=file, mode="r|*") as archive:
        yield archive


@contextlib.contextmanager
def open_zip(path: Path, remedy: str = AGAIN) -> Iterator[zipfile.ZipFile]:
    """A zip archive, to look into."""
    with open_file(path, remedy) as file, zipfile.ZipFile(file) as archive:
        yield archive

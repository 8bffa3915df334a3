"""Files from outside, read in one place: their kind, size and encoding are checked, and errors name file and remedy.

Nothing here waits for a pipe, unpacks more than was asked for, or lets a damaged file end in anything but a
:class:`~unbraid.errors.UsageError`.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import os
import stat
import tarfile
import tokenize
import tomllib
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, prod
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from unbraid.errors import UsageError

if TYPE_CHECKING:
    import h5py
    import numpy as np
    import polars
    import pyarrow.parquet
    from PIL.Image import Image

__all__ = [
    "TEXT",
    "check_form",
    "open_file",
    "open_gzip",
    "open_hdf5",
    "open_image",
    "open_tar",
    "open_zip",
    "parse_csv",
    "parse_json",
    "parse_toml",
    "read_arrays",
    "read_bytes",
    "read_columns",
    "read_csv",
    "read_header",
    "read_json",
    "read_member",
    "read_npy",
    "read_table",
    "read_text",
    "take",
    "understood",
]

AGAIN = "get the file anew"
TEXT = 1 << 28
"""Most bytes of a text file."""
WHOLE = 1 << 30
"""Most bytes of an array that is held in memory."""
PIXELS = 1 << 27
"""Most pixels of a picture."""
CELLS = 1 << 27
"""Most cells of a table."""

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


def read_text(path: Path, *, limit: int = TEXT, remedy: str = AGAIN) -> str:
    """All of a text file, which must be UTF-8."""
    content = read_bytes(path, limit=limit, remedy=remedy)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8, or {remedy}") from error


def parse_json(text: str | bytes, source: str | Path, *, remedy: str = AGAIN) -> Any:
    """The value that a JSON text stands for; ``source`` names it in errors."""
    with understood(source, remedy):
        return json.loads(text)


def read_json(
    path: Path, form: Mapping[str, Any] | None = None, *, remedy: str = "was it edited or copied half-way?"
) -> dict[str, Any]:
    """A JSON object of the form that :func:`check_form` knows.

    Its numbers are finite, and the whole ones fit into 64 bits: what tables and further files can hold.
    """
    return parse_object(read_text(path, remedy=remedy), path, form, remedy=remedy)


def parse_object(
    text: str, source: str | Path, form: Mapping[str, Any] | None = None, *, remedy: str = AGAIN
) -> dict[str, Any]:
    """The JSON object that a text stands for, checked like :func:`read_json`; ``source`` names it in errors."""
    try:
        content = json.loads(text, parse_int=_whole, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source} is not readable as JSON ({str(error)[:300]}); {remedy}") from error
    if not isinstance(content, dict):
        raise UsageError(f"{source} holds {type(content).__name__}, expected a JSON object; {remedy}")
    check_form(content, form or {}, source, remedy=remedy)
    return content


def _whole(word: str) -> int:
    if len(word) > 20 or not -(1 << 63) <= (number := int(word)) < 1 << 63:
        raise ValueError(f"{word[:40]} does not fit into 64 bits")
    return number


def _finite(word: str) -> float:
    if not isfinite(number := float(word)):
        raise ValueError(f"{word[:40]} is no finite number")
    return number


def check_form(content: Any, form: Any, source: str | Path, key: str = "", *, remedy: str = AGAIN) -> None:
    """Refuse a value that is not of a form: a type or union of types, ``[form of each]``, or ``{key: form}``.

    Keys that end in ``?`` may be missing. Numbers are ``float`` (whole ones too), and truth values no numbers.

    >>> check_form({"step": "3"}, {"step": int}, "run.json")
    Traceback (most recent call last):
    ...
    unbraid.errors.UsageError: run.json: step is str '3', expected int; get the file anew
    """
    if isinstance(form, dict):
        _check_type(content, dict, source, key, remedy)
        for name, inner in form.items():
            plain = name.removesuffix("?")
            if plain in content:
                check_form(content[plain], inner, source, f"{key}.{plain}".removeprefix("."), remedy=remedy)
            elif plain == name:
                where = f" of {key}" if key else ""
                raise UsageError(f"{source} has no entry {plain!r}{where}: not written by this library, or damaged")
    elif isinstance(form, list):
        _check_type(content, list, source, key, remedy)
        for number, item in enumerate(content):
            check_form(item, form[0], source, f"{key}[{number}]", remedy=remedy)
    else:
        _check_type(content, form, source, key, remedy)


def _check_type(content: Any, kind: Any, source: str | Path, key: str, remedy: str) -> None:
    wanted = kind | int if kind is float else kind
    truth = isinstance(content, bool) and kind not in (bool, object)
    if truth or not isinstance(content, wanted):
        name = getattr(kind, "__name__", str(kind))
        found = f"{type(content).__name__} {repr(content)[:40]}"
        raise UsageError(f"{source}: {key or 'it'} is {found}, expected {name}; {remedy}")


def parse_toml(text: str, source: str | Path) -> dict[str, Any]:
    """The table that a TOML text stands for; ``source`` names it in errors."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source} is not readable as TOML: {error}; mend it in an editor") from error


def read_csv(path: Path, *, limit: int = TEXT, remedy: str = AGAIN) -> list[list[str]]:
    """The rows of a CSV file in UTF-8."""
    return parse_csv(read_text(path, limit=limit, remedy=remedy), path, remedy=remedy)


def parse_csv(text: str, source: str | Path, *, remedy: str = AGAIN) -> list[list[str]]:
    """The rows that a CSV text stands for; ``source`` names it in errors."""
    # Cells of some published tables hold whole lists; the default limit of a field is 128 KB.
    csv.field_size_limit(1 << 24)
    with understood(source, remedy):
        return list(csv.reader(io.StringIO(text, newline="")))


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


def read_table(path: Path, *, remedy: str = AGAIN) -> polars.DataFrame:
    """The table of a Parquet file; empty cells are null."""
    content = read_bytes(path, remedy=remedy)
    with understood(path, remedy):
        import polars

        table = polars.from_arrow(_open_parquet(content, path, remedy).read(use_threads=False))
        assert isinstance(table, polars.DataFrame)
        return table


def _open_parquet(content: bytes, path: Path, remedy: str) -> pyarrow.parquet.ParquetFile:
    import pyarrow
    import pyarrow.parquet

    # Without threads: a process that was forked from one that read such a file has lost them.
    file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(content), pre_buffer=False)
    rows, columns = file.metadata.num_rows, file.metadata.num_columns
    if rows < 0 or rows * columns > CELLS:  # a few bytes can stand for any number of equal cells
        raise UsageError(f"{path} promises {rows:,} rows of {columns}, at most {CELLS:,} cells are read; {remedy}")
    return file


def read_columns(path: Path, *, remedy: str = AGAIN) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The columns of a Parquet file, and what else :func:`unbraid.files.save_columns` wrote into it, if anything.

    Columns of numbers and words are read, none of them with empty cells.
    """
    content = read_bytes(path, remedy=remedy)
    with understood(path, remedy):
        file = _open_parquet(content, path, remedy)
        said = (file.schema_arrow.metadata or {}).get(b"unbraid")
        about = {} if said is None else parse_json(said, path, remedy=remedy)
        check_form(about, {}, path, remedy=remedy)
        table = file.read(use_threads=False)
        found = {}
        for name, column in zip(table.column_names, table.columns, strict=True):
            if column.null_count:
                raise UsageError(f"{path} has {column.null_count:,} empty cells in column {name!r}; {remedy}")
            array = column.to_numpy()
            found[name] = array.astype(str) if array.dtype == object else array
        return found, about


@contextlib.contextmanager
def open_hdf5(path: Path, names: Sequence[str], remedy: str = AGAIN) -> Iterator[list[h5py.Dataset]]:
    """The data sets of these names in an HDF5 file; a group in the place of one is refused."""
    import h5py

    with open_file(path, remedy):
        pass
    with understood(path, remedy), h5py.File(path, "r") as file:
        for name in names:
            if not isinstance(file.get(name), h5py.Dataset):
                kind = "no" if name not in file else f"a {type(file.get(name)).__name__.lower()} in the place of the"
                raise UsageError(f"{path} has {kind} data set {name!r}; {remedy}")
        yield [file[name] for name in names]


@contextlib.contextmanager
def open_image(path: Path, remedy: str = "mend or remove it") -> Iterator[Image]:
    """A picture whose header is read and whose size is bearable; it is decoded when it is used."""
    import warnings

    from PIL import Image

    with open_file(path, remedy) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the bound below is ours
        try:
            with Image.open(file) as picture:
                if prod(picture.size) > PIXELS:
                    wide, high = picture.size
                    raise UsageError(f"{path} has {wide} x {high} pixels, at most {PIXELS:,} are read; {remedy}")
                yield picture
        except Image.DecompressionBombError as error:
            raise UsageError(f"{path} has too many pixels ({error}); {remedy}") from error

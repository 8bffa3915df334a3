"""Files that are either whole or not there, never written through a link, and folders that one process works in."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import json
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from unbraid.errors import UsageError

if TYPE_CHECKING:
    import matplotlib.figure
    import numpy as np
    import polars
    from PIL.Image import Image

__all__ = [
    "FULL",
    "cannot_write",
    "claim",
    "exclusive",
    "make_folders",
    "named_if_full",
    "no_room",
    "open_append",
    "open_lock",
    "replace_file",
    "save_columns",
    "save_figure",
    "save_picture",
    "save_table",
    "write_bytes",
    "write_json",
    "write_text",
    "writing",
]

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says when there is no room for a file."""
_RECORDS = ("run.json", "study.json", "evolution.json", "recursion.json", "matrix.json")
"""What a run, a study, a population, a recursion and a matrix are known by."""


@contextlib.contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Give a temporary name to write to; it takes the place of ``path`` only when whole and on the disk.

    A link at ``path`` is replaced by the file, and what it points to stays as it is.
    """
    _check_folders(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    temporary.unlink(missing_ok=True)
    try:
        with named_if_full(path):
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
            yield temporary
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def named_if_full(path: Path) -> Iterator[None]:
    """Say which file did not fit, which the system does not."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            error.filename = str(path)
        raise


def cannot_write(error: OSError, folder: Path) -> str:
    """Which file could not be written, why, and how much room there is."""
    path = Path(str(error.filename)) if error.filename else folder
    try:
        room = f", {shutil.disk_usage(folder).free / 2**20:,.0f} MB are free there"
    except OSError:
        room = ""
    return f"cannot write {path} ({error.strerror or error}{room})"


def no_room(error: OSError, folder: Path) -> str:
    """The same where a disk is full, and what to do."""
    return f"{cannot_write(error, folder)}. What was there before is whole: make room, give the same command again"


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn whatever keeps a file that was asked for from being written into one line that names it and the remedy."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise UsageError(no_room(error, path.absolute().parent)) from error
        raise UsageError(f"cannot write {path} ({error.strerror or error}); choose another place (--out)") from error


def make_folders(folder: Path) -> None:
    """Make a folder and those above it, where they are missing; none behind a link that leads out of a run."""
    _check_folders(folder / "file")
    folder.mkdir(parents=True, exist_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file as a whole."""
    with replace_file(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    """Replace a text file as a whole, in UTF-8 with plain line ends on every system."""
    write_bytes(path, text.encode())


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Replace a JSON file as a whole."""
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


def save_picture(picture: Image, path: str | Path, **options: Any) -> None:
    """Replace a picture as a whole; its format is that of the ending."""
    from PIL import Image

    path = Path(path)
    kind = Image.registered_extensions().get(path.suffix.lower())
    if kind is None:
        raise UsageError(f"a picture needs an ending that says its format, such as .png; got {path.name!r}")
    with replace_file(path) as temporary:
        picture.save(temporary, kind, **options)


def save_figure(figure: matplotlib.figure.Figure, path: str | Path, **options: Any) -> None:
    """Replace a plot as a whole; its format is that of the ending."""
    path = Path(path)
    with replace_file(path) as temporary:
        figure.savefig(temporary, format=path.suffix.removeprefix(".") or "png", **options)


def save_table(table: polars.DataFrame, path: Path) -> None:
    """Replace a table as a whole, as Parquet or CSV by its ending."""
    # Polars writes to memory, not to the file: of a full disk it says nothing that could be told from a mistake.
    buffer = io.BytesIO()
    if path.suffix == ".parquet":
        table.write_parquet(buffer)
    else:
        table.write_csv(buffer)
    write_bytes(path, buffer.getvalue())


def save_columns(columns: Mapping[str, np.ndarray], path: Path, about: Mapping[str, Any]) -> None:
    """Replace a Parquet file as a whole by these columns; :func:`unbraid.reading.read_columns` gives them back.

    ``about`` is what else it says, as JSON holds it.
    """
    import pyarrow
    import pyarrow.parquet

    said = {"unbraid": json.dumps(about, allow_nan=False)}
    table = pyarrow.table({name: pyarrow.array(column) for name, column in columns.items()}, metadata=said)
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(table, buffer, compression="zstd")
    write_bytes(path, buffer.getvalue())


def open_append(path: Path) -> BinaryIO:
    """Open a file to add to its end, if it is a file of its own: nothing is written through a link."""
    return os.fdopen(_open_unlinked(path, os.O_WRONLY | os.O_APPEND), "ab")


def open_lock(path: Path) -> BinaryIO:
    """Open a file to lock: made if there is none, never emptied, never through a link."""
    return os.fdopen(_open_unlinked(path, os.O_RDWR), "r+b", buffering=0)


def _check_folders(path: Path) -> None:
    """Refuse a file behind a link that leads out of a run, study or population; the whole of one may be linked to."""
    parents = path.absolute().parents
    for place, folder in enumerate(parents):
        for whole in parents[place + 1 :] if folder.is_symlink() else ():
            kept = any((whole / name).is_file() for name in _RECORDS)
            if kept and not folder.resolve().is_relative_to(whole.resolve()):
                raise UsageError(
                    f"{folder} is a link that leads out of {whole}, and nothing is written through it; put the folder "
                    f"itself in its place, or move all of {whole} elsewhere and link to that"
                )


def _open_unlinked(path: Path, mode: int) -> int:
    _check_folders(path)
    try:
        # Not waiting: somebody may have put a pipe there.
        descriptor = os.open(path, mode | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UsageError(f"{path} is a link, and nothing is written through links; remove it") from error
        if error.errno == errno.ENXIO:
            raise UsageError(f"{path} is no ordinary file; remove it") from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UsageError(f"{path} is no ordinary file; remove it")
    return descriptor


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold a folder for this process; the system lets go of it even after ``kill -9``."""
    with open_lock(folder / ".lock") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(
                f"{folder} is in use by another process; wait for it, or choose another folder (--out)"
            ) from error
        yield


@contextlib.contextmanager
def claim(path: Path, *, wait: bool = False) -> Iterator[bool]:
    """Hold a lock file; without ``wait`` gives whether it was free. The system lets go of it even after ``kill -9``."""
    with open_lock(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True

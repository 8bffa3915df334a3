"""Files that are either whole or not there, and a folder that one process at a time trains in."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unbraid.errors import UsageError

__all__ = ["exclusive", "read_json", "replace_file", "write_json"]


@contextlib.contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Give a temporary name to write to; it takes the place of ``path`` only when whole and on the disk."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
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


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Replace a JSON file as a whole."""
    with replace_file(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object, with an error that names the file."""
    try:
        content = json.loads(path.read_text())
    except (ValueError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not readable as JSON ({error}); was it edited or copied half-way?") from error
    if not isinstance(content, dict):
        raise UsageError(f"{path} holds {type(content).__name__}, expected a JSON object")
    return content


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold a folder for this process; the system lets go of it even after ``kill -9``."""
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(
                f"{folder} is in use by another process; wait for it, or choose another folder (--out)"
            ) from error
        yield

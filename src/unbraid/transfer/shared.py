"""What all models of a matrix are shown, made once: corrupted images, kept on disk up to a bound."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.errors import UsageError
from unbraid.files import make_folders, replace_file
from unbraid.reading import read_npy

__all__ = ["LIMIT", "shared_images", "sharing"]

LIMIT = 1 << 30
"""Bytes that shared images may take on disk; those that were made first go first."""
_FOLDER: ContextVar[Path | None] = ContextVar("shared", default=None)


@contextmanager
def sharing(folder: Path | None) -> Iterator[None]:
    """Inside, shared images lie in this folder."""
    token = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(token)


def shared_images(about: Mapping[str, Any], make: Callable[[], np.ndarray]) -> np.ndarray:
    """The images that ``about`` names, made if nobody has made them; it must say all that they depend on."""
    folder = _FOLDER.get()
    if folder is None:
        return make()
    text = json.dumps(dict(about), sort_keys=True, default=str)
    path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.npy"
    try:
        return read_npy(path, remedy="it is made anew")
    except (UsageError, OSError):  # not there, or deleted or damaged: it can always be made again
        found = make()
    if found.nbytes <= LIMIT // 4:
        make_folders(folder)
        with replace_file(path) as temporary, temporary.open("wb") as file:
            np.save(file, found)
        _trim(folder)
    return found


def _trim(folder: Path) -> None:
    sizes = []
    for path in folder.glob("*.npy"):
        try:
            about = path.stat()
        except FileNotFoundError:  # another process was faster
            continue
        sizes.append((about.st_mtime, about.st_size, path))
    total = sum(size for _, size, _ in sizes)
    for _, size, path in sorted(sizes):
        if total <= LIMIT:
            return
        path.unlink(missing_ok=True)
        total -= size

"""Paths as people give them: checked before any work is done, and quoted where a command is advised."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from unbraid.errors import UsageError

__all__ = ["check_path", "quoted", "readable", "user_path"]


def quoted(path: str | Path) -> str:
    """A path as it can be pasted into a command.

    >>> print(f"unbraid evaluate {quoted('my runs/first')}")
    unbraid evaluate 'my runs/first'
    """
    return shlex.quote(str(path))


def readable(name: str) -> str:
    """The name of a file as text that can be written down, whatever its bytes are.

    >>> print(readable("b\\udcfcro.png"))
    b\\udcfcro.png
    """
    return name.encode("utf-8", "backslashreplace").decode()


def check_path(path: str | Path, what: str) -> Path:
    """A path that can be written down and read again; others are refused before any work is done.

    >>> check_path("runs/first", "--out").name
    'first'
    """
    text = str(path)
    if "\0" in text:
        raise UsageError(f"{what} must not hold a zero byte, got {text!r}")
    whole = str(Path(text).absolute())
    try:
        whole.encode("utf-8")
    except UnicodeEncodeError as error:
        try:
            os.fsencode(whole).decode("utf-8")
        except UnicodeDecodeError:
            hint = "its bytes are no UTF-8, and it could not be written down; rename the folder or choose another"
        else:
            hint = "this locale knows ASCII only; set LC_ALL=C.UTF-8"
        raise UsageError(f"{what} {whole!r}: {hint}") from error
    return Path(path)


def user_path(path: str | Path, what: str = "path") -> Path:
    """A path as somebody gave it, with ``~`` for the home folder."""
    try:
        return check_path(path, what).expanduser()
    except RuntimeError as error:
        raise UsageError(
            f"{what} {str(path)!r}: no home folder is known here (HOME is not set, and this user has no entry in the "
            "list of users); write the path without ~"
        ) from error

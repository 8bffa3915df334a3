"""Where data lives on disk: ``UNBRAID_DATA``, one folder or several.

New files (downloads, rendered caches) go to the first folder; all of them are searched. The default is
``~/.cache/unbraid``.
"""

import os
from pathlib import Path

from unbraid.errors import UsageError
from unbraid.files import make_folders
from unbraid.paths import user_path

__all__ = ["find_file", "home", "roots"]


def roots() -> list[Path]:
    """The folders to search, in order."""
    setting = os.environ.get("UNBRAID_DATA", "")
    folders = [user_path(part, "UNBRAID_DATA") for part in setting.split(os.pathsep) if part]
    if folders:
        return folders
    try:
        return [Path.home() / ".cache" / "unbraid"]
    except RuntimeError as error:
        raise UsageError(
            "no place for data sets: no home folder is known here (HOME is not set, and this user has no entry in the "
            "list of users). Set UNBRAID_DATA to a folder you can write to"
        ) from error


def home(name: str) -> Path:
    """The folder for new files of a data set; made when it is missing."""
    folder = roots()[0] / name
    try:
        make_folders(folder)
    except OSError as error:
        raise UsageError(
            f"cannot make the data folder {folder} ({error.strerror}); set UNBRAID_DATA to a folder you can write to"
        ) from error
    return folder


def find_file(*candidates: str) -> Path | None:
    """The first of these relative paths that exists under one of the roots."""
    for root in roots():
        for candidate in candidates:
            if (root / candidate).exists():
                return root / candidate
    return None

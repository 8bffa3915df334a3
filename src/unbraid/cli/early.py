"""What is checked before torch is imported, which takes seconds: a wrong name is answered at once."""

from __future__ import annotations

import difflib
from pathlib import Path

from unbraid.errors import UsageError

__all__ = ["check_data", "check_folder", "check_objective"]


def check_folder(path: Path) -> None:
    """Refuse a folder that is not there, with the nearest name beside it."""
    if path.is_dir():
        return
    beside = sorted(found.name for found in path.parent.iterdir() if found.is_dir()) if path.parent.is_dir() else []
    near = difflib.get_close_matches(path.name, beside, n=1, cutoff=0.5)
    guess = f"; did you mean {path.parent / near[0]}?" if near else "."
    what = f"{path} is a file, no folder" if path.is_file() else f"there is no folder {path}"
    raise UsageError(f"{what}{guess} Give the folder that was --out when it was made")


def check_data(name: str | None) -> None:
    """Refuse an unknown data set."""
    from unbraid import data

    if name is not None:
        plain, _ = data.parse(name)
        if plain in data.names() or not data.is_path(plain):
            data.entry(plain)


def check_objective(name: str | None) -> None:
    """Refuse an unknown objective."""
    from unbraid import objectives

    if name is not None:
        objectives.get(name)

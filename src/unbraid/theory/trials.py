"""Experiments as lists of trials: each leaves one small file, so that the same command goes on where it stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.errors import UsageError
from unbraid.files import exclusive, make_folders, write_json
from unbraid.reading import read_json

if TYPE_CHECKING:
    import polars

__all__ = ["Trial", "check_same", "read_trials", "run_trials"]


@dataclass(frozen=True)
class Trial:
    """One model still to be trained: calling ``run`` gives its numbers."""

    name: str
    """Unique in its experiment, good as a file name."""
    setting: dict[str, Any]
    run: Callable[[], dict[str, Any]]


def run_trials(
    trials: Iterable[Trial], folder: Path, *, tell: Callable[[dict[str, Any]], None] | None = None
) -> polars.DataFrame:
    """Run what the folder does not hold yet, and return the table of all trials asked for, in their order.

    A stored trial with another setting (more steps, say) is refused rather than mixed in.
    """
    import polars

    make_folders(folder)
    rows = []
    with exclusive(folder):
        for trial in trials:
            path = folder / f"{trial.name}.json"
            if path.exists():
                row = read_json(path)
                check_same(path, row, trial.setting)
            else:
                begin = time.monotonic()
                row = {**trial.setting, **trial.run()}
                row["seconds"] = round(time.monotonic() - begin, 1)
                write_json(path, row)
                if tell is not None:
                    tell(row)
            rows.append(row)
    return polars.DataFrame(rows, infer_schema_length=None)


def read_trials(folder: Path) -> polars.DataFrame:
    """The table of every trial a folder holds, sorted by name."""
    import polars

    rows = [read_json(path) for path in sorted(folder.glob("*.json"))]
    if not rows:
        raise UsageError(f"{folder} holds no finished trial")
    return polars.DataFrame(rows, infer_schema_length=None)


def check_same(path: Path, row: dict[str, Any], setting: dict[str, Any]) -> None:
    """Refuse what lies at ``path`` if it was made with another setting."""
    for key, value in setting.items():
        if row.get(key) != value:
            raise UsageError(
                f"{path} was run with {key} = {row.get(key)!r}, now asked for {value!r}; give the study its own --out"
            )

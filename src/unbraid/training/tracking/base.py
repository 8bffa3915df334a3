"""What a tracker is, and how one is named."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from unbraid.errors import UsageError
from unbraid.paths import quoted
from unbraid.plugins import import_file
from unbraid.registry import Registry, summary

__all__ = [
    "Asked",
    "Tracker",
    "about",
    "flat_scores",
    "named_trackers",
    "names",
    "register",
    "sent_later",
    "settings_of",
]


class Tracker:
    """Where the numbers of a run are shown beside its folder. All but ``start`` may be left as they are.

    What it raises costs training one warning and nothing else; it is not asked again. Every row is sent at most once.
    """

    def start(self, folder: Path, record: Mapping[str, Any], before: str | None) -> str:
        """Begin, or go on with what an earlier process began as ``before``; returns the id to go on with.

        ``folder`` is the run's, ``record`` what its ``run.json`` holds.
        """
        raise NotImplementedError

    def log(self, step: int, scalars: Mapping[str, float]) -> None:
        """The numbers of a step: a row of the history, and what hooks measured. Steps rise."""

    def picture(self, name: str, file: Path) -> None:
        """A picture from the run's folder."""

    def scores(self, table: Sequence[Mapping[str, Any]], step: int) -> None:
        """What was measured of the run after ``step`` steps: rows with measure, score, value and condition."""

    def finish(self, status: str) -> None:
        """No more for now: the run is ``finished``, ``stopped`` or ``failed``."""


_TRACKERS: Registry[type[Tracker]] = Registry(
    "tracker", "An own one is named by its file and class: FILE.py:NAME", first=("tensorboard", "wandb", "mlflow")
)
_METHODS = ("start", "log", "picture", "scores", "finish")
Asked = str | Tracker | Iterable[str | Tracker]


def register(name: str) -> Callable[[type[Tracker]], type[Tracker]]:
    """Decorator: make a tracker known by a name. Its constructor imports what it needs and says what is missing."""
    return _TRACKERS.register(name)


def names() -> list[str]:
    """All names."""
    return list(_TRACKERS)


def about(name: str) -> str:
    """What a tracker does, in one line."""
    return summary(_TRACKERS[name])


def named_trackers(asked: Asked) -> dict[str, Tracker]:
    """Trackers by the names that ``run.json`` knows them by; what one of them lacks is told now.

    Names are separated by commas; ``FILE.py:NAME`` is a class of one's own with the methods of :class:`Tracker`.
    """
    found: dict[str, Tracker] = {}
    if isinstance(asked, str):
        several: Iterable[Any] = asked.split(",")
    else:
        several = asked if isinstance(asked, Iterable) and not isinstance(asked, type | Tracker) else [asked]
    for one in several:
        if not isinstance(one, str):
            found[type(one).__name__] = _object(one)
        elif one.strip():
            file, colon, name = one.strip().rpartition(":")
            own = colon and file.endswith(".py")
            found[f"{Path(file).name}:{name}" if own else one.strip()] = (
                _own(Path(file), name) if own else _TRACKERS[one.strip()]()
            )
    return found


def _object(one: Any) -> Tracker:
    """An object that was given as a tracker, if it can be one."""
    if isinstance(one, type):
        raise UsageError(f"track must be names or objects, got the class {one.__name__}; give {one.__name__}()")
    if not any(callable(getattr(one, method, None)) for method in _METHODS):
        raise UsageError(
            f"track must be names of trackers ({', '.join(names())}, FILE.py:CLASS) or objects of the class "
            f"unbraid.training.tracking.Tracker, got {one!r}"
        )
    return _checked(one, type(one).__name__)


def sent_later(name: str, tracker: Tracker, folder: Path) -> str:
    """How what a tracker missed can be sent to it, as something to paste."""
    file, _, made = name.rpartition(":")
    module = sys.modules.get(Path(file).stem) if file.endswith(".py") else None
    if module is not None and module.__file__ is not None:
        return f"unbraid track {quoted(folder)} --to {quoted(f'{Path(module.__file__).absolute()}:{made}')}"
    if name in names() and type(tracker) is _TRACKERS[name]:
        return f"unbraid track {quoted(folder)} --to {name}"
    return f"in Python, unbraid.training.tracking.send_run({str(folder)!r}, {type(tracker).__name__}(...))"


def _own(file: Path, name: str) -> Tracker:
    import_file(file)
    made = getattr(sys.modules[file.stem], name, None)
    if not callable(made):
        raise UsageError(f"tracker {file}:{name}: the file has no class {name!r}")
    return _checked(made(), f"{file}:{name}")


def _checked(tracker: Any, name: str) -> Tracker:
    """The same, if it has all methods."""
    missing = [method for method in _METHODS if not callable(getattr(tracker, method, None))]
    if missing:
        raise UsageError(
            f"tracker {name} has no method {missing[0]!r}, expected {', '.join(_METHODS)}; "
            "class Mine(unbraid.training.tracking.Tracker) inherits what it does not need"
        )
    found: Tracker = tracker
    return found


def settings_of(record: Mapping[str, Any]) -> dict[str, str | int | float | bool]:
    """The settings of a run as plain values by dotted names: what a tracker may tell others.

    Neither the command nor where anything lies on this machine is among them: of paths the last part is left.

    >>> options = {"beta": 2.0, "augment": ["ant:snapshots=/home/me/run"]}
    >>> settings_of({"objective": {"name": "vae", "options": options}, "seed": 1, "command": ["--key", "x"]})
    {'objective': 'vae', 'beta': 2.0, 'augment': "['ant:snapshots=run']", 'seed': 1}
    """
    objective, data = record.get("objective", {}), record.get("data", {})
    found = {
        "objective": objective.get("name"),
        **objective.get("options", {}),
        "data": Path(data["name"]).name if "name" in data else None,
        **{f"data.{key}": data.get(key) for key in ("images", "shape", "fingerprint")},
        **{key: record.get(key) for key in ("seed", "batch_size", "log_every")},
        **{f"versions.{key}": value for key, value in record.get("versions", {}).items()},
        **{f"arithmetic.{key}": value for key, value in record.get("arithmetic", {}).items()},
    }
    plain = {key: _without_folders(value) for key, value in found.items() if value is not None}
    return {key: value if isinstance(value, str | int | float | bool) else str(value) for key, value in plain.items()}


_PIECES = re.compile(r"[^,;:=()\[\]{}'\"]+")
"""What stands between the signs of options such as ``ant:snapshots=runs/ant``: a path may have spaces."""


def _without_folders(value: Any) -> Any:
    """The same with the last part in the place of every path, also inside texts, lists and mappings."""
    if isinstance(value, Mapping):
        return {_without_folders(key): _without_folders(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_folders(item) for item in value]
    if isinstance(value, Path):
        return value.name
    if not isinstance(value, str):
        return value
    if re.match(r"[/\\~]", value):
        return _last(value)  # a path as a whole, whatever signs its folders have
    return _PIECES.sub(lambda piece: _last(piece[0]), value)


def _last(piece: str) -> str:
    if re.fullmatch(r"\d+/\d+", piece):
        return piece  # a fraction
    return re.split(r"[/\\]", piece.rstrip("/\\"))[-1]


def flat_scores(table: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Scores by names that every tracker takes: measure, score, and the condition where there is one.

    >>> row = {"measure": "corruptions", "score": "accuracy", "value": 0.5, "condition": {"name": "fog", "severity": 3}}
    >>> flat_scores([row])
    {'corruptions/accuracy/name fog severity 3': 0.5}
    """
    found = {}
    for row in table:
        condition = " ".join(f"{key} {value}" for key, value in row["condition"].items())
        name = "/".join(filter(None, (row["measure"], row["score"], condition)))
        found[re.sub(r"[^\w/.\- ]", "-", name)] = float(row["value"])
    return found

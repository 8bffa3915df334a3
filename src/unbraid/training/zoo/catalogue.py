"""What trained runs there are: those that ship with the package, and those of catalogues of one's own."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbraid.errors import UsageError, unknown_name
from unbraid.paths import user_path
from unbraid.reading import check_form, read_json

__all__ = ["PREFIX", "SHIPPED", "Entry", "entries", "entry"]

PREFIX = "zoo:"
SHIPPED = Path(__file__).with_name("catalogue.json")
_FORM = {
    "title": str,
    "objective": str,
    "data": str,
    "seed": int,
    "steps": int,
    "command": str,
    "scores": {"preset": str, "seed": int, "values": dict},
    "sha256": str,
    "size": int,
    "file?": str,
    "url?": str,
}


@dataclass(frozen=True)
class Entry:
    """A trained run: how it was made, what it scores, and where its archive is to be had."""

    name: str
    title: str
    objective: str
    data: str
    seed: int
    steps: int
    command: str
    """The command that trains it again."""
    scores: dict[str, Any]
    """``preset`` and ``seed`` of the evaluation, and its ``values`` by the names of the scores."""
    sha256: str
    """Checksum of the archive."""
    size: int
    """Bytes of the archive."""
    file: Path | None = None
    """Where the archive lies on this machine, beside the catalogue, ..."""
    url: str | None = None
    """... or its address."""


def entries() -> dict[str, Entry]:
    """All runs by name: of the catalogues that ``UNBRAID_ZOO`` names (JSON files), then those of the package."""
    own = [user_path(part, "UNBRAID_ZOO") for part in os.environ.get("UNBRAID_ZOO", "").split(os.pathsep) if part]
    found: dict[str, Entry] = {}
    for path in (*own, SHIPPED):
        if not path.is_file():
            raise UsageError(f"UNBRAID_ZOO names {path}, and there is no such file; expected a catalogue in JSON")
        for name, record in read_json(path, {"runs": dict})["runs"].items():
            found.setdefault(name, _read(path, name, record))
    return found


def entry(name: str) -> Entry:
    """The run of this name, with or without ``zoo:`` before it."""
    known = entries()
    plain = name.removeprefix(PREFIX)
    if plain not in known:
        raise unknown_name("run of the zoo", plain, known, "See `unbraid zoo list`")
    return known[plain]


def _read(path: Path, name: str, record: Any) -> Entry:
    check_form(record, _FORM, path, f"runs.{name}")
    if unknown := record.keys() - {key.removesuffix("?") for key in _FORM}:
        raise UsageError(f"{path}: runs.{name} has an unknown entry {min(unknown)!r}")
    if not name.replace("-", "").isalnum():
        raise UsageError(f"{path}: the name of a run must be letters, digits and '-', got {name!r}")
    if ("file" in record) == ("url" in record):
        raise UsageError(f"{path}: runs.{name} must have a file or a url, one of both")
    if not re.fullmatch("[0-9a-f]{64}", record["sha256"]):
        raise UsageError(f"{path}: runs.{name}.sha256 must be 64 hex digits (0-9, a-f), got {record['sha256']!r}")
    file = path.parent / record["file"] if "file" in record else None
    return Entry(name=name, **{**record, "file": file})

"""What lies in other folders, by whichever version: records of a name, and studies; what cannot be read is left out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from unbraid.errors import UsageError, UsageWarning
from unbraid.reading import read_json
from unbraid.study import StudyFolder, open_study

__all__ = ["records_under", "studies_under"]

Found = TypeVar("Found")


def records_under(places: Sequence[Path], name: str, form: Mapping[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The JSON records of this name and form under some folders; of one that has another form is told that it has."""
    return _readable(places, name, lambda path: read_json(path, form, remedy="another version may have written it"))


def studies_under(places: Sequence[Path]) -> Iterator[StudyFolder]:
    """The studies under some folders."""
    return (folder for _, folder in _readable(places, "study.json", lambda path: open_study(path.parent)))


def _readable(places: Sequence[Path], name: str, read: Callable[[Path], Found]) -> Iterator[tuple[Path, Found]]:
    for path in (path for place in places for path in sorted(Path(place).glob(f"**/{name}"))):
        try:
            found = read(path)
        except UsageError as error:
            warnings.warn(f"nothing beside it is taken over: {error}", UsageWarning, stacklevel=2)
            continue
        yield path, found

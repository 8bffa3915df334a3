"""Data sets by name."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data.dataset import Card, Dataset, Recipe
from unbraid.data.files.folder import from_folder
from unbraid.data.files.root import find_file
from unbraid.data.own import from_npz, from_path, is_path
from unbraid.data.space import FactorSpace
from unbraid.errors import UsageError, unknown_name
from unbraid.options import check_options, parse_value
from unbraid.options import parse_name as parse

__all__ = ["Entry", "entry", "load", "names", "parse", "register"]


@dataclass(frozen=True)
class Entry:
    """A data set as the catalogue knows it, before anything is loaded or rendered."""

    name: str
    load: Callable[..., Dataset]
    card: Card
    images: int | None
    size: str
    """Image size in words, such as ``64x64x1``."""
    space: FactorSpace | None = None
    files: tuple[str, ...] = ()
    """Paths under the data root, the first existing one of which holds the data; empty if nothing is needed."""
    made: bool = False
    """Whether the files are rendered here when missing (otherwise they must be downloaded)."""

    @property
    def on_disk(self) -> bool:
        """Whether loading needs neither a download nor a rendering pass."""
        return not self.files or find_file(*self.files) is not None


_ENTRIES: dict[str, Entry] = {}


def register(item: Entry) -> None:
    """Put a data set into the catalogue (own ones too: then ``--data NAME`` finds it)."""
    _ENTRIES[_key(item.name)] = item


def names() -> list[str]:
    """All registered names."""
    return sorted(_ENTRIES)


def entry(name: str) -> Entry:
    """The catalogue entry of a name; ``_`` and ``-`` are the same."""
    if _key(name) not in _ENTRIES:
        raise unknown_name("data set", name, _ENTRIES, "See `unbraid data list`")
    return _ENTRIES[_key(name)]


def _key(name: str) -> str:
    return name.replace("_", "-").lower()


def load(name: str, **options: Any) -> Dataset:
    """A data set by name.

    Options that name a factor choose a part of the grid (an integer fixes the factor, a slice or list thins it);
    the others go to the data set. Both can be written into the name, as on the command line:
    ``load("sprites32:shape=0,orientation=::4")``. The path of an npz file or of a folder of images is a name too:
    ``load("my.npz")``, ``load("photos:size=64")``.
    """
    name, written = (name, {}) if is_path(name) and Path(name).exists() else parse(name)
    options = written | {key: parse_value(value) if isinstance(value, str) else value for key, value in options.items()}
    if _key(name) not in _ENTRIES and is_path(name):
        return _load_path(name, options)
    item = entry(name)
    factors = item.space.names if item.space else ()
    choices = {key: value for key, value in options.items() if key in factors}
    rest = {key: value for key, value in options.items() if key not in factors}
    dataset = item.load(**check_options(f"data set {item.name!r}", item.load, rest, also=factors))
    if choices:
        if dataset.space is None:
            raise UsageError(f"data set {item.name!r} has no factors to choose from: {sorted(choices)}")
        dataset = dataset.subset(**choices)
    dataset.recipe = _recipe(item.name, options)
    return dataset


def _load_path(name: str, options: dict[str, Any]) -> Dataset:
    path = Path(name).expanduser().absolute()
    reader = from_folder if path.is_dir() else from_npz
    accepted = set(inspect.signature(reader).parameters) - {"path"}
    rest = {key: value for key, value in options.items() if key in accepted}
    dataset = from_path(path, **check_options(repr(name), reader, rest))
    choices = {key: value for key, value in options.items() if key not in accepted}
    if choices:
        known = dataset.factor_names if dataset.space is not None else ()
        for key in choices:
            if key not in known:
                raise unknown_name(f"option of {name!r}:", key, (*accepted, *known))
        dataset = dataset.subset(**choices)
    dataset.recipe = _recipe(str(path), options)
    return dataset


def _recipe(name: str, options: dict[str, Any]) -> Recipe | None:
    """How to load it again; there is no way if an option is an array, which no record can hold."""
    if any(isinstance(value, np.ndarray) for value in options.values()):
        return None
    return Recipe(name, {key: _plain(value) for key, value in options.items()})


def _plain(value: Any) -> Any:
    """An option as JSON can hold it, in the form :func:`unbraid.options.parse_value` reads."""
    if isinstance(value, slice):
        return ":".join("" if part is None else str(part) for part in (value.start, value.stop, value.step))
    if isinstance(value, list | tuple | range):
        return "+".join(map(str, value))
    return value if isinstance(value, int | float | bool | None) else str(value)

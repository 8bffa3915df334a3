"""Data sets by name."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from unbraid.data.dataset import Card, Dataset, Recipe
from unbraid.data.files.folder import from_folder
from unbraid.data.files.root import find_file
from unbraid.data.own import from_npz, from_path, is_path
from unbraid.data.part import Indices, read_indices
from unbraid.data.space import FactorSpace
from unbraid.data.splits.split import split
from unbraid.data.wrappers import wrapped, wrapper_options
from unbraid.errors import UsageError, unknown_name
from unbraid.options import check_options, parse_value
from unbraid.options import parse_name as parse
from unbraid.paths import user_path
from unbraid.registry import Registry, summary

__all__ = ["Entry", "entry", "load", "names", "parse", "register"]


@dataclass(frozen=True)
class Entry:
    """A data set as the catalogue knows it, before anything is loaded or rendered."""

    name: str
    load: Callable[..., Dataset]
    card: Card
    images: int | None = None
    """How many there are; ``None`` if that is known only once it is loaded."""
    size: str = ""
    """Image size in words, such as ``64x64x1``; empty if that is known only once it is loaded."""
    space: FactorSpace | None = None
    files: tuple[str, ...] = ()
    """Paths under the data root, the first existing one of which holds the data; empty if nothing is needed."""
    made: bool = False
    """Whether the files are rendered here when missing (otherwise they must be downloaded)."""

    @property
    def on_disk(self) -> bool:
        """Whether loading needs neither a download nor a rendering pass."""
        return not self.files or find_file(*self.files) is not None


_ENTRIES: Registry[Entry] = Registry(
    "data set", "See `unbraid data list`; an own one must be imported first (on the command line: --plugin FILE.py)"
)
_SPLIT = ("split", "side", "split_seed")
"""Options that choose a side of a split, of every data set that has none of its own by that name."""
_CHOOSE = ("part", *_SPLIT)
"""Options that choose some of the images."""
Loader = TypeVar("Loader", bound=Callable[..., Dataset])


def register(
    name: str,
    *,
    card: Card | None = None,
    images: int | None = None,
    size: str = "",
    space: FactorSpace | None = None,
    files: Sequence[str] = (),
    made: bool = False,
) -> Callable[[Loader], Loader]:
    """Decorator: make a function that returns a data set, or a class of data sets, known by this name.

    Its parameters are the options of ``load("name:option=value")``. What it says of itself beforehand (``card``,
    ``images``, ``size``, ``space``) stands in lists without loading anything; a class may have ``card``, ``space`` and
    ``shape`` as attributes instead, and all of it may stay unsaid.

    >>> from unbraid.data import from_arrays
    >>> @register("grey-levels")
    ... def grey_levels(size: int = 8):
    ...     levels = np.full((3, size, size), [[[10]], [[20]], [[30]]], np.uint8)
    ...     return from_arrays(levels, factors=[[0], [1], [2]])
    >>> load("grey-levels:size=4").shape
    (4, 4, 1)
    """

    def keep(loader: Loader) -> Loader:
        grid, shape = space or getattr(loader, "space", None), getattr(loader, "shape", None)
        about = getattr(loader, "card", Dataset.card)
        found = Entry(
            name,
            loader,
            card or (Card(summary(loader) or name) if about is Dataset.card else about),
            images if images is not None or grid is None else len(grid),
            size or ("x".join(map(str, shape)) if isinstance(shape, tuple) else ""),
            grid,
            tuple(files),
            made,
        )
        _ENTRIES.add(name, found, home=loader)
        return loader

    return keep


def names() -> list[str]:
    """All registered names."""
    return _ENTRIES.names()


def entry(name: str) -> Entry:
    """The catalogue entry of a name; ``_`` and ``-`` are the same."""
    return _ENTRIES[name]


def load(name: str, **options: Any) -> Dataset:
    """A data set by name.

    Options that name a factor choose a part of the grid (an integer fixes the factor, a slice or list thins it);
    ``split`` takes the training side of a split (a name, sets of values or a JSON file of them; ``side=test`` the other
    one, ``split_seed`` decides a random one); ``part`` chooses images by position (a slice, or an npy file of
    positions); ``corruption`` spoils them (:class:`unbraid.corruptions.Corrupted`); the others go to the data set. All
    can be written into the name, as on the command line: ``load("sprites32:shape=0,orientation=::4")``,
    ``load("sprites32:part=::7")``. The path of an npz file or of a folder of images is a name too:
    ``load("my.npz")``, ``load("photos:size=64")``.
    """
    name, written = (name, {}) if is_path(name) and Path(name).exists() else parse(name)
    options = written | {key: parse_value(value) if isinstance(value, str) else value for key, value in options.items()}
    if name not in _ENTRIES and is_path(name):
        path = user_path(name, "data").absolute()
        reader = from_folder if path.is_dir() else from_npz
        return _load(str(path), lambda **given: from_path(path, **given), reader, ("path",), None, options)
    item = entry(name)
    return _load(item.name, item.load, item.load, (), item.space, options)


def _load(
    name: str,
    make: Callable[..., Dataset],
    described: Callable[..., Any],
    given: Sequence[str],
    space: FactorSpace | None,
    options: dict[str, Any],
) -> Dataset:
    """Share the options out to the data set, to its factors and to the choice of a part."""
    what = f"data set {name!r}"
    factors = space.names if space else ()
    # The name of a factor always means the factor.
    taken = set(inspect.signature(described).parameters) - {*given, *factors}
    own = {key: value for key, value in options.items() if key in taken}
    rest = {key: value for key, value in options.items() if key not in own}
    if space is not None:
        _check_known(what, rest, taken, factors)  # before anything is loaded
    dataset = make(**check_options(what, described, own, given=given))
    if dataset.name == Dataset.name:
        dataset.name = name  # it was given none of its own
    factors = () if dataset.space is None else dataset.space.names
    _check_known(what, rest, taken, factors)
    choices = {key: value for key, value in rest.items() if key in factors}
    shown = {key: value for key, value in rest.items() if key not in choices and key not in _CHOOSE}
    dataset.recipe = _recipe(name, own)
    if shown:
        dataset = wrapped(dataset, shown)
        dataset.recipe = _recipe(name, own | shown)
    if choices:
        dataset = dataset.subset(**choices)
        dataset.recipe = _recipe(name, own | shown | choices)
    dataset = _side(dataset, {key: rest[key] for key in _SPLIT if key in rest and key not in choices})
    if "part" in rest and "part" not in choices:
        dataset = _part(dataset, name, rest["part"])
    return dataset


def _side(dataset: Dataset, asked: dict[str, Any]) -> Dataset:
    """The side of a split that was asked for, if any was."""
    if not asked:
        return dataset
    if "split" not in asked:
        raise UsageError(f"{next(iter(asked))} needs a split: {dataset.name}:split=extrapolation,side=test")
    return split(dataset, asked["split"], asked.get("split_seed", 0)).side(str(asked.get("side", "train")))


def _check_known(what: str, options: dict[str, Any], taken: set[str], factors: Sequence[str]) -> None:
    for key in options:
        if key not in factors and key not in _CHOOSE and key not in (more := wrapper_options()):
            raise unknown_name(f"option of {what}:", key, (*taken, *factors, *_CHOOSE, *more))


def _part(dataset: Dataset, name: str, chosen: Any) -> Dataset:
    index = chosen
    if isinstance(chosen, str) and chosen in ("train", "test"):
        raise UsageError(f"part={chosen} takes images by position; a side of a split is split=KIND,side={chosen}")
    if isinstance(chosen, str | Path):
        chosen = user_path(chosen, "part").absolute()
        index = read_indices(chosen)
    part = dataset.part([index] if isinstance(index, int) else index)
    part.recipe = None if dataset.recipe is None else _recipe(name, {**dataset.recipe.options, "part": chosen})
    return part


def _recipe(name: str, options: dict[str, Any]) -> Recipe | None:
    """How to load it again; there is no way if an option is something that no record can hold."""
    for value in options.values():
        if isinstance(value, np.ndarray) or (isinstance(value, Indices) and not isinstance(value, str)):
            return None
    return Recipe(name, {key: _plain(value) for key, value in options.items()})


def _plain(value: Any) -> Any:
    """An option as JSON can hold it, in the form :func:`unbraid.options.parse_value` reads."""
    if isinstance(value, slice):
        return ":".join("" if part is None else str(part) for part in (value.start, value.stop, value.step))
    if isinstance(value, dict):
        return value  # the values of a split, by factor
    if isinstance(value, list | tuple | range):
        return "+".join(map(str, value))
    return value if isinstance(value, int | float | bool | None) else str(value)

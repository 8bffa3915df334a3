"""Things by name: the one way in which objectives, networks, data sets, metrics and the rest become known."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from inspect import getdoc
from operator import attrgetter
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Generic, TypeVar

from unbraid.errors import UsageError, unknown_name

__all__ = ["Registry", "import_everywhere", "import_modules", "summary"]

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Things of one kind by name; ``_``, ``-`` and capitals make no difference.

    They are listed in the order in which they came, those in ``first`` before all others.

    >>> shapes = Registry("shape")
    >>> @shapes.register("half-circle")
    ... def half_circle(): ...
    >>> shapes["Half_Circle"] is half_circle, list(shapes)
    (True, ['half-circle'])
    """

    def __init__(
        self,
        kind: str,
        hint: str = "An own one must be imported first (on the command line: --plugin FILE.py)",
        first: Iterable[str] = (),
    ):
        self.kind, self.hint = kind, hint
        self._first = {_key(name): place for place, name in enumerate(first)}
        self._things: dict[str, T] = {}
        self._names: dict[str, str] = {}
        self._homes: dict[str, str] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator: make a thing known by this name. A name belongs to whoever took it first."""

        def keep(thing: T) -> T:
            self.add(name, thing)
            return thing

        return keep

    def add(self, name: str, thing: T, home: Any = None) -> None:
        """Make a thing known by this name; what is defined anew at the same place replaces the earlier one.

        The place is where ``home`` is defined, by default the thing itself.
        """
        if not isinstance(name, str) or not name or not name.isprintable() or set(name) & set(":,= \t/"):
            raise UsageError(
                f"the name of a {self.kind} must be a word without spaces, ':', ',', '=' or '/', got {name!r}"
            )
        key, place = _key(name), _home(thing if home is None else home)
        if self._homes.get(key, place) != place:
            owner = self._homes[key]
            raise UsageError(f"there is a {self.kind} {self._names[key]!r} already ({owner}); give yours another name")
        self._things[key], self._names[key], self._homes[key] = thing, name, place

    def __getitem__(self, name: str) -> T:
        if name not in self:
            raise unknown_name(self.kind, name, self, self.hint)
        return self._things[_key(name)]

    def get(self, name: str, default: Any = None) -> Any:
        """The thing of this name, or ``default``: for names that need not be known."""
        return self._things.get(_key(name), default)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _key(name) in self._things

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._names.values(), key=lambda name: self._first.get(_key(name), len(self._first))))

    def __len__(self) -> int:
        return len(self._things)

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self)


def import_modules(package: str) -> None:
    """Import every module of a package: a file dropped into its folder is found, and what it registers is known.

    Modules whose names begin with ``_`` are helpers; they are left to those who need them.
    """
    found = import_module(package)
    for module in iter_modules(found.__path__):
        if not module.name.startswith("_"):
            import_module(f"{package}.{module.name}")


@cache
def import_everywhere(module: str) -> None:
    """Import the module of this name of every package that has one: packages that build on another bring their own.

    Found by its name when it is first asked for, so that the package below knows none of them.
    """
    root = import_module("unbraid")
    for package in filter(attrgetter("ispkg"), iter_modules(root.__path__)):
        inside = iter_modules([str(Path(folder) / package.name) for folder in root.__path__])
        if any(found.name == module for found in inside):
            import_module(f"unbraid.{package.name}.{module}")


def summary(thing: Any) -> str:
    """What the first paragraph of its docstring says of a thing, in one line.

    >>> summary(summary)
    'What the first paragraph of its docstring says of a thing, in one line.'
    """
    return " ".join((getdoc(thing) or "").split("\n\n")[0].split())


def _key(name: str) -> str:
    return name.replace("_", "-").lower()


def _home(thing: Any) -> str:
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}.{named.__qualname__}"

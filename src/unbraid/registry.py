"""Things by name: the one way in which objectives, networks, data sets, metrics and the rest become known."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Generic, TypeVar

from unbraid.errors import UsageError, unknown_name

__all__ = ["Registry", "import_modules"]

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Things of one kind by name, in the order in which they came; ``_``, ``-`` and capitals make no difference.

    >>> shapes = Registry("shape")
    >>> @shapes.register("half-circle")
    ... def half_circle(): ...
    >>> shapes["Half_Circle"] is half_circle, list(shapes)
    (True, ['half-circle'])
    """

    def __init__(
        self, kind: str, hint: str = "An own one must be imported first (on the command line: --plugin FILE.py)"
    ):
        self.kind, self.hint = kind, hint
        self._things: dict[str, T] = {}
        self._names: dict[str, str] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator: make a thing known by this name. A name belongs to whoever took it first."""

        def keep(thing: T) -> T:
            self.add(name, thing)
            return thing

        return keep

    def add(self, name: str, thing: T) -> None:
        """Make a thing known by this name; what is defined anew at the same place replaces the earlier one."""
        if not isinstance(name, str) or not name or not name.isprintable() or set(name) & set(":,= \t/"):
            raise UsageError(
                f"the name of a {self.kind} must be a word without spaces, ':', ',', '=' or '/', got {name!r}"
            )
        key = _key(name)
        if key in self._things and _home(self._things[key]) != _home(thing):
            owner = _home(self._things[key])
            raise UsageError(f"there is a {self.kind} {self._names[key]!r} already ({owner}); give yours another name")
        self._things[key], self._names[key] = thing, name

    def __getitem__(self, name: str) -> T:
        if _key(name) not in self._things:
            raise unknown_name(self.kind, name, self._names.values(), self.hint)
        return self._things[_key(name)]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _key(name) in self._things

    def __iter__(self) -> Iterator[str]:
        return iter(self._names.values())

    def __len__(self) -> int:
        return len(self._things)

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._names.values())


def import_modules(package: str) -> None:
    """Import every module of a package: a file dropped into its folder is found, and what it registers is known."""
    found = import_module(package)
    for module in iter_modules(found.__path__):
        import_module(f"{package}.{module.name}")


def _key(name: str) -> str:
    return name.replace("_", "-").lower()


def _home(thing: Any) -> str:
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}.{named.__qualname__}"

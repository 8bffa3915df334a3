"""Names of a package that are imported from its modules when they are first used."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazily"]


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A ``__getattr__`` for a package, so that importing it costs nothing; ``homes`` says in which module a name lies.

    No name may be that of a module of the package: once that is imported, it would be found instead.

    >>> find = lazily("unbraid", {"UsageError": "errors"})
    >>> find("UsageError").__module__
    'unbraid.errors'
    """

    def find(name: str) -> Any:
        if name in homes:
            return getattr(import_module(f"{package}.{homes[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find

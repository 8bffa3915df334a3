"""Options that every data set has, because some package knows how to show any data set differently."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from unbraid.data.dataset import Dataset
from unbraid.errors import UsageError
from unbraid.options import check_options
from unbraid.registry import Registry, import_everywhere

__all__ = ["register_wrapper", "wrapped", "wrapper_options"]

Wrap = TypeVar("Wrap", bound=Callable[..., Dataset])
_WRAPPERS: Registry[Callable[..., Dataset]] = Registry("wrapper")


def register_wrapper(function: Wrap) -> Wrap:
    """Decorator: make ``function(data, option, more_options=...)`` known by the names of its parameters.

    ``load("NAME:option=value")`` calls it then on the whole data set, before parts and sides of splits are taken. A
    package that has one registers it in a module ``wrapper``, which is imported when a name with options is loaded:
    this package knows none of them.
    """
    _WRAPPERS.add(_options(function)[0], function)
    return function


def wrapper_options() -> tuple[str, ...]:
    """The options of all wrappers."""
    import_everywhere("wrapper")
    return tuple(option for function in _WRAPPERS.values() for option in _options(function))


def wrapped(data: Dataset, options: Mapping[str, Any]) -> Dataset:
    """The data set as these options want it shown."""
    for first, function in _WRAPPERS.items():
        names = _options(function)
        own = {key: value for key, value in options.items() if key in names}
        if own and first not in own:
            raise UsageError(f"{next(iter(own))} needs {first}: {data.name}:{first}=...,{next(iter(own))}=...")
        if own:
            what = f"{first} of data set {data.name!r}"
            given = check_options(what, function, own, given=tuple(inspect.signature(function).parameters)[:1])
            data = function(data, **given)
    return data


def _options(function: Callable[..., Dataset]) -> tuple[str, ...]:
    """All parameters but the data set."""
    return tuple(inspect.signature(function).parameters)[1:]

"""What several scores would compute from the same numbers is computed once while they are computed together."""

import functools
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

import numpy as np

__all__ = ["remembered", "remembering"]

_KEPT: ContextVar[dict[Any, Any] | None] = ContextVar("kept", default=None)
Function = TypeVar("Function", bound=Callable[..., Any])


@contextmanager
def remembering() -> Iterator[None]:
    """Within this, :func:`remembered` functions keep their answers; nothing outlives it."""
    token = _KEPT.set({})
    try:
        yield
    finally:
        _KEPT.reset(token)


def remembered(*, ignoring: tuple[str, ...] = ()) -> Callable[[Function], Function]:
    """Decorator: a function of arrays and plain values that answers from memory while :func:`remembering`.

    ``ignoring`` are keyword arguments that change no answer. Answers are shared, so nobody may write into them.

    >>> @remembered()
    ... def costly(values):
    ...     print("computed")
    ...     return values.sum()
    >>> with remembering():
    ...     first, second = costly(np.ones(3)), costly(np.ones(3))
    computed
    """

    def wrap(function: Function) -> Function:
        @functools.wraps(function)
        def answer(*args: Any, **kwargs: Any) -> Any:
            kept = _KEPT.get()
            if kept is None:
                return function(*args, **kwargs)
            known = sorted((name, _key(value)) for name, value in kwargs.items() if name not in ignoring)
            key = (function, tuple(map(_key, args)), tuple(known))
            if key not in kept:
                kept[key] = function(*args, **kwargs)
            return kept[key]

        return cast(Function, answer)

    return wrap


def _key(value: Any) -> Any:
    """Arrays by their content, pairs of them too."""
    if isinstance(value, np.ndarray):
        content = hashlib.blake2b(value.tobytes(), digest_size=16).digest()
        return (value.dtype.str, value.shape, content)
    return tuple(map(_key, value)) if isinstance(value, tuple | list) else value

"""Loops over pixels, compiled by numba when they are first called."""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

__all__ = ["compiled"]


def compiled(function: Callable[..., None], *, regroup: bool = False) -> Callable[..., None]:
    """Compile a function at its first call and keep the machine code on disk for the next process.

    numba takes a second to import; only the first call pays for it, not whoever imports the module. With ``regroup``
    sums of floats may be added up in another order, many at a time.
    """
    order = {"reassoc", "contract"} if regroup else False

    @cache
    def ready() -> Callable[..., None]:
        from numba import njit

        code: Callable[..., None]
        try:
            code = njit(cache=True, nogil=True, error_model="numpy", fastmath=order)(function)
        except RuntimeError:
            # Neither the package's folder nor the user's cache can be written: compile for this process alone.
            code = njit(nogil=True, error_model="numpy", fastmath=order)(function)
        return code

    @wraps(function)
    def call(*arguments: Any) -> None:
        ready()(*arguments)

    return call

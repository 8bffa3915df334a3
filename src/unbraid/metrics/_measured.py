"""Measured factors: floats that some scores take as they are and all others see cut into a few bins."""

import functools
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np

from unbraid.metrics._score import Score, as_array

__all__ = ["BINS", "MOST_WHOLE", "cut", "cuts_factors"]

BINS = 10
"""Of equal counts, into which a measured factor is cut."""
MOST_WHOLE = 200
"""Whole numbers stay as they are, up to this many different ones."""

Cut = tuple[Any, Any, dict[str, Any]]


def cut(factors: Any, test: Any = None) -> Cut:
    """Factors as integers, those of ``test=(codes, factors)`` alike, and the settings that say what was done.

    A column of floats with at most :data:`BINS` values, or at most :data:`MOST_WHOLE` that are all whole, is numbered
    by value; any other is cut into bins of equal counts. Integers stay as they are.

    >>> table = np.column_stack([np.repeat([3.0, 7.0], 50), np.linspace(0, 1, 100) ** 2])
    >>> whole, _, settings = cut(table)
    >>> whole[[0, 99]].tolist(), settings
    ([[0, 0], [1, 9]], {'factor_bins': 10, 'binned_factors': [1]})
    """
    table = as_array(factors, "factors")
    if table.dtype.kind != "f" or table.ndim != 2 or not np.isfinite(table).all():
        return factors, test, {}
    other = as_array(test[1], "test factors") if isinstance(test, tuple | list) and len(test) == 2 else None
    if other is not None and (other.ndim != 2 or other.shape[1] != table.shape[1]):
        other = None  # the score itself says what is wrong
    whole = np.empty(table.shape, dtype=np.int64)
    whole_test = None if other is None else np.empty(other.shape, dtype=np.int64)
    binned = []
    for k in range(table.shape[1]):
        both = table[:, k] if other is None else np.concatenate([table[:, k], other[:, k]])
        values = np.unique(both)
        if len(values) <= BINS or (len(values) <= MOST_WHOLE and (values == np.rint(values)).all()):
            edges, side = values, "left"
        else:
            edges, side = np.unique(np.quantile(table[:, k], np.arange(1, BINS) / BINS)), "right"
            binned.append(k)
        whole[:, k] = np.searchsorted(edges, table[:, k], side=side)  # type: ignore[call-overload]
        if whole_test is not None and other is not None:
            whole_test[:, k] = np.searchsorted(edges, other[:, k], side=side)  # type: ignore[call-overload]
    said: dict[str, Any] = {"factor_bins": BINS, "binned_factors": binned} if binned else {}
    return whole, test if whole_test is None else (test[0], whole_test), said


def cuts_factors(function: Callable[..., Any]) -> Callable[..., Any]:
    """A score of integers that takes measured factors too: cut into bins, which its settings then say."""
    takes = signature(function)

    @functools.wraps(function)
    def scored(*args: Any, **kwargs: Any) -> Any:
        bound = takes.bind(*args, **kwargs)
        given = bound.arguments
        whole, test, said = cut(given["factors"], given.get("test"))
        given["factors"] = whole
        if "test" in given:
            given["test"] = test
        found = function(*bound.args, **bound.kwargs)
        return found.with_settings(**said) if said and isinstance(found, Score) else found

    return scored

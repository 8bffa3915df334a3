"""Arrays, lists, dictionaries and numbers out of a pickle, and nothing else.

A pickle is a program: the ordinary reader calls whatever functions the file names. This one knows the three that make
up a NumPy array or number and refuses all others before anything is called.
"""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from unbraid.errors import UsageError

__all__ = ["read_plain_pickle"]


def read_plain_pickle(path: str | Path) -> Any:
    """What the file holds, provided it is built from arrays, lists, tuples, dictionaries, text and numbers.

    Anything else (a function, a class, an array subclass) raises before it is touched. The file may still be large:
    reading one from a stranger can cost memory, not more.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            return _Reader(file).load()
    except FileNotFoundError as error:
        raise UsageError(f"no file {path}") from error
    except _Refused as error:
        raise UsageError(
            f"{path} asks to run {error}, which a file of arrays has no need of; do not open it with pickle either"
        ) from error
    except Exception as error:  # a damaged pickle can fail in any way
        raise UsageError(f"{path} is no whole pickle of plain arrays ({error}); get the file anew") from error


class _Refused(Exception):
    pass


def _empty_array(kind: Any, shape: Any, code: Any) -> np.ndarray:
    """What NumPy's own helper does: an empty array whose state, shape and bytes, comes next."""
    if kind is not np.ndarray or shape != (0,) or code not in (b"b", "b"):
        raise _Refused("an unusual array constructor")
    return np.ndarray((0,), np.int8)


def _number(dtype: Any, data: Any = None) -> Any:
    """One NumPy number from its bytes."""
    if not isinstance(dtype, np.dtype) or dtype.hasobject or not isinstance(data, bytes):
        raise _Refused("an unusual number constructor")
    return np.frombuffer(data, dtype, 1)[0]


def _from_buffer(data: Any, dtype: Any, shape: Any, order: Any) -> np.ndarray:
    """An array from its bytes, as pickle protocol 5 stores it."""
    if not isinstance(dtype, np.dtype) or dtype.hasobject:
        raise _Refused("an unusual array constructor")
    return np.frombuffer(data, dtype).reshape(shape, order=order)


def _latin_bytes(text: Any, encoding: Any = "latin1") -> bytes:
    """How old pickles spell bytes."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise _Refused(f"the codec {encoding!r}")
    return text.encode("latin1")


def _dtype(name: Any, *_: Any) -> np.dtype:
    if not isinstance(name, str) or len(name) > 16:
        raise _Refused("an unusual number type")
    return np.dtype(name)


def _allowed() -> dict[tuple[str, str], Any]:
    found: dict[tuple[str, str], Any] = {("numpy", "ndarray"): np.ndarray, ("numpy", "dtype"): _dtype}
    helpers: list[tuple[str, str, Callable[..., Any]]] = [
        ("multiarray", "_reconstruct", _empty_array),
        ("multiarray", "scalar", _number),
        ("numeric", "_frombuffer", _from_buffer),
    ]
    for package in ("numpy.core", "numpy._core"):
        found |= {(f"{package}.{module}", name): helper for module, name, helper in helpers}
    return found | {("_codecs", "encode"): _latin_bytes}


_ALLOWED = _allowed()


class _Reader(pickle.Unpickler):
    """The standard reader with a list of five names instead of all of Python."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise _Refused(f"{module}.{name}") from None

    def persistent_load(self, pid: Any) -> NoReturn:
        raise _Refused(f"the reference {pid!r}")

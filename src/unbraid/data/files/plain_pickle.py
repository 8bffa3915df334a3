"""Arrays, lists, dictionaries and numbers out of a pickle, and nothing else.

A pickle is a program for a small machine, and the ordinary reader lets it call Python functions. This is a machine of
its own: it knows the instructions that put plain values together and the few spellings of a NumPy array, calls nothing
that the file names, and makes arrays itself, from bytes of the file, with their number type, shape and length checked.
"""

import pickletools
import re
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.errors import UsageError
from unbraid.reading import read_bytes

__all__ = ["read_plain_pickle"]

_DEEPEST = 20
_DTYPE = re.compile(r"[<>=|]?(?:[iu][1248]|f[248]|b1|O8?)")
_ARRAYS = ("numpy.core", "numpy._core")


def read_plain_pickle(path: str | Path) -> Any:
    """What the file holds, provided it is built from arrays, lists, tuples, dictionaries, text and numbers.

    Anything else (a function, a class, an array subclass) is refused. Memory stays within a few times the size of
    the file: arrays are views of its bytes.
    """
    path = Path(path)
    content = read_bytes(path)
    try:
        return _plain(_Machine(content).run(), {}, _DEEPEST)
    except _Refused as error:
        raise UsageError(
            f"{path} asks for {error}, which a file of arrays has no need of; do not open it with pickle either"
        ) from error
    except _Damaged as error:
        raise UsageError(f"{path} is no whole pickle of plain arrays ({error}); get the file anew") from error


class _Refused(Exception):
    """Something that is no plain value."""


class _Damaged(Exception):
    """Instructions that fit no machine."""


class _Name:
    """A Python object by name. It is compared with those known here and never looked up."""

    def __init__(self, module: Any, name: Any) -> None:
        if not isinstance(module, str) or not isinstance(name, str):
            raise _Damaged("a name that is no text")
        self.text = f"{module}.{name}"


class _Type:
    """A number type; ``O`` stands for lists kept as arrays of objects."""

    def __init__(self, text: Any) -> None:
        if not isinstance(text, str) or not _DTYPE.fullmatch(text):
            raise _Refused(f"the number type {text!r}" if isinstance(text, str) else "an unusual number type")
        self.text = text

    @property
    def objects(self) -> bool:
        return "O" in self.text

    def set(self, state: Any) -> None:
        """Take over the byte order of a type's state; structured types have more in it and are refused."""
        if not isinstance(state, tuple) or len(state) not in (8, 9) or state[2:7] != (None, None, None, -1, -1):
            raise _Refused("a structured number type")
        if state[1] not in ("<", ">", "|", "="):
            raise _Damaged("a number type without byte order")
        self.text = state[1] + self.text.lstrip("<>=|")


class _Array:
    """An array that is announced first and filled later; others may hold on to it in between."""

    value: Any = None


class _Mark:
    pass


class _Machine:
    """A stack, a memory, and one method per instruction."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.stack: list[Any] = []
        self.memory: dict[int, Any] = {}
        self.budget = 2 * len(content)
        """Bytes that may still be made from text: old pickles spell each array's bytes as text, once."""

    def run(self) -> Any:
        try:
            for code, argument, _ in pickletools.genops(self.content):
                if code.name == "STOP":
                    return self.pop()
                if code.name in _VALUES:
                    self.stack.append(argument)
                elif (act := _ACTS.get(code.name)) is not None:
                    act(self, argument)
                else:
                    raise _Refused(f"the instruction {code.name}")
        except (ValueError, TypeError, IndexError, KeyError) as error:
            raise _Damaged(str(error) or type(error).__name__) from error
        raise _Damaged("it has no end")

    def pop(self) -> Any:
        if not self.stack:
            raise _Damaged("an empty stack")
        return self.stack.pop()

    def pop_marked(self) -> list[Any]:
        """Everything above the last mark."""
        for position in range(len(self.stack) - 1, -1, -1):
            if isinstance(self.stack[position], _Mark):
                items = self.stack[position + 1 :]
                del self.stack[position:]
                return items
        raise _Damaged("a missing mark")

    def put(self, number: Any) -> None:
        self.memory[len(self.memory) if number is None else number] = self.stack[-1]

    def extend(self, items: list[Any]) -> None:
        if type(self.stack[-1]) is not list:
            raise _Damaged("an item for what is no list")
        self.stack[-1].extend(items)

    def set_items(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not dict or len(items) % 2:
            raise _Damaged("an entry for what is no dictionary")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if not isinstance(key, str | int | bytes):
                raise _Refused(f"a key of type {type(key).__name__}")
            target[key] = value

    def reduce(self, _: Any) -> None:
        """Where the ordinary reader calls a function: one of the few that make up an array."""
        arguments, function = self.pop(), self.pop()
        if not isinstance(function, _Name) or not isinstance(arguments, tuple):
            raise _Refused("a call of what is no function")
        make = _MAKERS.get(function.text)
        if make is None:
            raise _Refused(function.text)
        self.stack.append(make(self, *arguments))

    def build(self, _: Any) -> None:
        state, target = self.pop(), self.stack[-1]
        if isinstance(target, _Type):
            target.set(state)
        elif isinstance(target, _Array) and target.value is None and isinstance(state, tuple) and len(state) == 5:
            _, shape, dtype, by_columns, data = state
            target.value = self.array(data, dtype, shape, "F" if by_columns else "C")
        else:
            raise _Refused(f"a state for a {type(target).__name__.strip('_').lower()}")

    def array(self, data: Any, dtype: Any, shape: Any, order: Any) -> Any:
        """An array over bytes of the file, or a list where it holds objects."""
        if not isinstance(dtype, _Type) or order not in ("C", "F"):
            raise _Refused("an unusual array")
        if not isinstance(shape, tuple) or len(shape) > 8 or not all(type(n) is int and n >= 0 for n in shape):
            raise _Damaged("an array without a shape")
        if dtype.objects:
            if type(data) is not list or len(shape) != 1 or len(data) != shape[0]:
                raise _Refused("an array of objects that is no list")
            return data
        if isinstance(data, str):
            data = self.encode(data)
        kind = np.dtype(dtype.text)
        if not isinstance(data, bytes | bytearray) or len(data) != prod(shape) * kind.itemsize:
            raise _Damaged("an array whose bytes do not fill its shape")
        return np.frombuffer(data, kind).reshape(shape, order=order)

    def encode(self, text: Any, encoding: Any = "latin1") -> bytes:
        """How old pickles spell bytes."""
        if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
            raise _Refused(f"the codec {encoding!r}")
        self.budget -= len(text)
        if self.budget < 0:
            raise _Refused("more bytes than it holds")
        return text.encode("latin1")

    def announce(self, kind: Any, shape: Any, code: Any) -> _Array:
        if not isinstance(kind, _Name) or kind.text != "numpy.ndarray" or shape != (0,) or code not in (b"b", "b"):
            raise _Refused(kind.text if isinstance(kind, _Name) else "an unusual array")
        return _Array()

    def number(self, dtype: Any, data: Any = None) -> Any:
        if isinstance(dtype, _Type) and dtype.objects:
            raise _Refused("an unusual number")
        return self.array(data, dtype, (), "C")[()]

    def dtype(self, text: Any, *_: Any) -> _Type:
        return _Type(text)


_VALUES = frozenset(
    "INT LONG LONG1 LONG4 BININT BININT1 BININT2 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE "
    "SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8".split()
)
"""Instructions that push the value they carry."""

_MAKERS: dict[str, Callable[..., Any]] = {
    "_codecs.encode": _Machine.encode,
    "numpy.dtype": _Machine.dtype,
    **{f"{package}.multiarray._reconstruct": _Machine.announce for package in _ARRAYS},
    **{f"{package}.multiarray.scalar": _Machine.number for package in _ARRAYS},
    **{f"{package}.numeric._frombuffer": _Machine.array for package in _ARRAYS},
}


def _push(make: Callable[[], Any]) -> Callable[[_Machine, Any], None]:
    return lambda machine, _: machine.stack.append(make())


def _tuple(count: int) -> Callable[[_Machine, Any], None]:
    def act(machine: _Machine, _: Any) -> None:
        items = [machine.pop() for _ in range(count)]
        machine.stack.append(tuple(items[::-1]))

    return act


def _set_all(machine: _Machine, items: list[Any]) -> None:
    machine.stack.append({})
    machine.set_items(items)


def _set_one(machine: _Machine) -> None:
    value, key = machine.pop(), machine.pop()
    machine.set_items([key, value])


def _stack_global(machine: _Machine) -> None:
    name, module = machine.pop(), machine.pop()
    machine.stack.append(_Name(module, name))


def _get(machine: _Machine, number: Any) -> None:
    machine.stack.append(machine.memory[number])


_ACTS: dict[str, Callable[[_Machine, Any], None]] = {
    "PROTO": lambda *_: None,
    "FRAME": lambda *_: None,
    "MARK": _push(_Mark),
    "NONE": _push(lambda: None),
    "NEWTRUE": _push(lambda: True),
    "NEWFALSE": _push(lambda: False),
    "EMPTY_LIST": _push(list),
    "EMPTY_DICT": _push(dict),
    "EMPTY_TUPLE": _tuple(0),
    "TUPLE1": _tuple(1),
    "TUPLE2": _tuple(2),
    "TUPLE3": _tuple(3),
    "TUPLE": lambda machine, _: machine.stack.append(tuple(machine.pop_marked())),
    "LIST": lambda machine, _: machine.stack.append(machine.pop_marked()),
    "DICT": lambda machine, _: _set_all(machine, machine.pop_marked()),
    "APPEND": lambda machine, _: machine.extend([machine.pop()]),
    "APPENDS": lambda machine, _: machine.extend(machine.pop_marked()),
    "SETITEM": lambda machine, _: _set_one(machine),
    "SETITEMS": lambda machine, _: machine.set_items(machine.pop_marked()),
    "POP": lambda machine, _: machine.stack.__delitem__(-1),
    "POP_MARK": lambda machine, _: machine.pop_marked().clear(),
    "PUT": _Machine.put,
    "BINPUT": _Machine.put,
    "LONG_BINPUT": _Machine.put,
    "MEMOIZE": _Machine.put,
    "GET": _get,
    "BINGET": _get,
    "LONG_BINGET": _get,
    "GLOBAL": lambda machine, text: machine.stack.append(_Name(*str(text).split(" ", 1))),
    "STACK_GLOBAL": lambda machine, _: _stack_global(machine),
    "REDUCE": _Machine.reduce,
    "BUILD": _Machine.build,
}


def _plain(thing: Any, known: dict[int, Any], depth: int) -> Any:
    """The value with announced arrays in their places; a thing that is held twice is gone through once."""
    if isinstance(thing, _Array):
        thing = thing.value
        if thing is None:
            raise _Damaged("an array that is never filled")
    if isinstance(thing, _Name | _Type | _Mark):
        raise _Refused(thing.text if isinstance(thing, _Name) else "no value")
    if not isinstance(thing, list | tuple | dict):
        return thing
    if id(thing) in known:
        if known[id(thing)] is thing:
            raise _Refused("a list inside itself")
        return known[id(thing)]
    if depth == 0:
        raise _Refused(f"lists more than {_DEEPEST} deep")
    known[id(thing)] = thing  # under way
    if isinstance(thing, dict):
        found: Any = {key: _plain(value, known, depth - 1) for key, value in thing.items()}
    else:
        found = type(thing)(_plain(value, known, depth - 1) for value in thing)
    known[id(thing)] = found
    return found

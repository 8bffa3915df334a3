"""Names with options written into them, as on the command line: ``name:key=value,key=value``."""

import contextlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from unbraid.errors import UsageError, unknown_name

__all__ = ["Named", "check_options", "parse_name", "parse_options", "parse_value", "seed_list"]

_FLOAT = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][+-]?\d+)?")
_TEXT = {str, Path, NoneType}


@dataclass(frozen=True)
class Named:
    """A name with options, as data: what ``name:key=value,...`` says once it was read.

    >>> Named.read("pairs:protocol=uni")
    Named(name='pairs', options={'protocol': 'uni'})
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, text: "str | Named") -> "Named":
        """Read text; what is no text any more stays as it is."""
        return text if isinstance(text, Named) else cls(*parse_name(text))


def parse_name(text: str) -> tuple[str, dict[str, Any]]:
    """Split ``name:key=value,...``; values are as in :func:`parse_value`.

    >>> parse_name("sprites32:shape=0,orientation=::4,scale=0+5")
    ('sprites32', {'shape': 0, 'orientation': slice(None, None, 4), 'scale': [0, 5]})
    """
    name, _, rest = text.partition(":")
    return name.strip(), parse_options(rest, text)


def parse_options(text: str, whole: str | None = None) -> dict[str, Any]:
    """The options of ``key=value,...``; ``whole`` is what an error shows.

    >>> parse_options("protocol=lap,rate=2")
    {'protocol': 'lap', 'rate': 2}
    """
    options: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"cannot read {part!r} in {whole or text!r}; write name:option=value,option=value")
        options[key.strip()] = parse_value(value.strip())
    return options


def parse_value(text: str) -> int | float | list[int | float] | slice | str:
    """``3``, ``0.5``, ``0+2+5`` or ``0.1+0.2`` (a list), ``::4`` (a slice with a step) or text.

    >>> [parse_value(text) for text in ("3", "1e-2", "0+2", "0.5+1", "2:", "tanh", "a:b")]
    [3, 0.01, [0, 2], [0.5, 1], slice(2, None, None), 'tanh', 'a:b']
    """
    if _FLOAT.fullmatch(text):
        return float(text)
    try:
        if 1 <= text.count(":") <= 2:
            return slice(*(int(part) if part else None for part in text.split(":")))
        if "+" in text:
            return [float(part) if _FLOAT.fullmatch(part) else int(part) for part in text.split("+")]
        return int(text)
    except ValueError:
        return text


def check_options(
    what: str,
    function: Callable[..., Any],
    options: dict[str, Any],
    also: Iterable[str] = (),
    given: Iterable[str] = (),
) -> dict[str, Any]:
    """The options as ``function`` takes them; a wrong name or type is refused.

    ``also`` are names that would have been right elsewhere, for the hint; ``given`` are parameters that are no options.

    >>> def draw(size: int, colour: str = "red"): ...
    >>> check_options("drawing", draw, {"size": 3, "colour": 7})
    {'size': 3, 'colour': '7'}
    >>> def fill(whole: bool = False): ...
    >>> check_options("filling", fill, {"whole": "true"})
    {'whole': True}
    """
    parameters = {name: p for name, p in _parameters(function).items() if name not in set(given)}
    for name in options:
        if name not in parameters:
            raise unknown_name(f"option of {what}:", name, (*parameters, *also))
    return {name: _fitting(what, name, value, parameters[name].annotation) for name, value in options.items()}


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(function, eval_str=True).parameters)
    except NameError:  # a type that is imported for the type checker only, or known where a base class is defined
        found = dict(inspect.signature(function).parameters)
    with contextlib.suppress(NameError):
        hints = get_type_hints(function)
        found |= {name: p.replace(annotation=hints[name]) for name, p in found.items() if name in hints}
    return found


def _fitting(what: str, name: str, value: Any, annotation: Any) -> Any:
    union = get_origin(annotation) in (Union, UnionType)
    allowed = get_args(annotation) if union else (annotation,)
    words = [word for kind in allowed if get_origin(kind) is Literal for word in get_args(kind)]
    others = [kind for kind in allowed if get_origin(kind) is not Literal]
    if any(value == word and type(value) is type(word) for word in words):
        return value
    if words and all(kind is NoneType for kind in others) and (value is not None or not others):
        raise unknown_name(f"{name} of {what}:", value, map(str, words))
    kinds = {get_origin(kind) or kind for kind in others}
    if not all(isinstance(kind, type) for kind in kinds) or inspect.Parameter.empty in kinds:
        return value
    if kinds <= _TEXT and isinstance(value, int | float):
        return str(value)  # a word that looks like a number
    if bool in kinds and value in ("true", "false"):
        return value == "true"
    wanted = kinds | ({int} if float in kinds else set()) | ({list} if tuple in kinds else set())
    if (isinstance(value, str) and str not in kinds) or not isinstance(value, tuple(wanted)):
        names = " or ".join(sorted(kind.__name__ for kind in kinds if kind is not NoneType))
        raise UsageError(f"option {name!r} of {what} must be {names}, got {value!r}")
    if isinstance(value, list | tuple):
        return type(value)(_fitting(what, f"{name}[{k}]", one, _element(others, k)) for k, one in enumerate(value))
    return value


def _element(kinds: Iterable[Any], position: int) -> Any:
    """What the element of a list or tuple must be, where the annotation says so."""
    for kind in kinds:
        if get_origin(kind) in (list, tuple) and (inside := get_args(kind)):
            return inside[0] if len(inside) == 1 or inside[1] is ... else inside[min(position, len(inside) - 1)]
    return inspect.Parameter.empty


def seed_list(seeds: int | Iterable[int]) -> list[int]:
    """Seeds by their number, from 0, or as they are given.

    >>> seed_list(3), seed_list([100, 101])
    ([0, 1, 2], [100, 101])
    """
    found = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if not found or len(set(found)) < len(found) or min(found) < 0:
        raise UsageError(f"seeds must be at least 1, or different whole numbers from 0, got {seeds}")
    return found

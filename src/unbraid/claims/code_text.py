"""The code that judges a claim, as text without comments: who changes it changes what verdicts mean."""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType
from typing import Any

__all__ = ["code_hash", "code_of"]

ROOM = "unbraid.claims"
_APART = tuple(f"{ROOM}.{name}" for name in ("claim", "group", "sources", "recipes", "reuse", "studies", "cells"))
"""Where claims and groups are kept and carried out: what decides of it stands in definitions and recipes."""
_PLAIN = (str, int, float, tuple)


def code_hash(*things: Any) -> str:
    """A hash of the code of functions and classes, with all that they use of these rules and readings.

    What they ask of other packages is not a part: analyses and scores answer for themselves by versions.
    """
    text = "\n".join(sorted(set(_texts(things, set()))))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def code_of(thing: Any) -> str:
    """The text of a function or class without decorators, docstrings and comments; empty where there is no source.

    >>> code_of(code_of).splitlines()[0]
    'def code_of(thing: Any) -> str:'
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(thing)))
    except (OSError, TypeError, SyntaxError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.decorator_list = []
            node.body = [one for one in node.body if not _is_text(one)] or [ast.Pass()]
    return ast.unparse(tree)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _texts(things: tuple[Any, ...], seen: set[Any]) -> Iterator[str]:
    for thing in things:
        if thing not in seen:
            seen.add(thing)
            text, used = _read(thing)
            yield text
            yield from _texts(used, seen)


@lru_cache(maxsize=1024)
def _read(thing: Any) -> tuple[str, tuple[Any, ...]]:
    """The text of one thing with the constants it names, and what else it names that is a part of judging."""
    text = code_of(thing)
    if not text:
        return f"{thing.__module__}.{thing.__qualname__}", ()
    named = _named(ast.parse(text), {**vars(sys.modules[thing.__module__]), **_enclosed(thing)})
    constants = [f"{name} = {value!r}" for name, value in named.items() if isinstance(value, _PLAIN)]
    used = [value for value in named.values() if inspect.isfunction(value) or inspect.isclass(value)]
    return "\n".join([text, *constants]), tuple(one for one in used if _judges(one, thing.__module__))


def _enclosed(thing: Any) -> dict[str, Any]:
    """What a function made by another one has from there."""
    return dict(inspect.getclosurevars(thing).nonlocals) if inspect.isfunction(thing) else {}


def _named(tree: ast.AST, world: dict[str, Any]) -> dict[str, Any]:
    """The things of a module that code names, also those of other modules by ``module.name``."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in world:
            found[node.id] = world[node.id]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            home = world.get(node.value.id)
            if isinstance(home, ModuleType) and hasattr(home, node.attr):
                found[f"{node.value.id}.{node.attr}"] = getattr(home, node.attr)
    return dict(sorted(found.items()))


def _judges(thing: Any, asker: str) -> bool:
    home = thing.__module__
    return home not in _APART and (home == asker or home.startswith(f"{ROOM}."))

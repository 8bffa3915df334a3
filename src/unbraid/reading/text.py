"""Text, JSON, TOML and CSV, checked for encoding, size and form."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from unbraid.errors import UsageError
from unbraid.reading.opening import AGAIN, read_bytes, understood

__all__ = [
    "TEXT",
    "check_form",
    "parse_csv",
    "parse_json",
    "parse_object",
    "parse_toml",
    "read_csv",
    "read_json",
    "read_text",
]

TEXT = 1 << 28
"""Most bytes of a text file."""


def read_text(path: Path, *, limit: int = TEXT, remedy: str = AGAIN) -> str:
    """All of a text file, which must be UTF-8."""
    content = read_bytes(path, limit=limit, remedy=remedy)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8, or {remedy}") from error


def parse_json(text: str | bytes, source: str | Path, *, remedy: str = AGAIN) -> Any:
    """The value that a JSON text stands for; ``source`` names it in errors."""
    with understood(source, remedy):
        return json.loads(text)


def read_json(
    path: Path, form: Mapping[str, Any] | None = None, *, remedy: str = "was it edited or copied half-way?"
) -> dict[str, Any]:
    """A JSON object of the form that :func:`check_form` knows.

    Its numbers are finite, and the whole ones fit into 64 bits: what tables and further files can hold.
    """
    return parse_object(read_text(path, remedy=remedy), path, form, remedy=remedy)


def parse_object(
    text: str, source: str | Path, form: Mapping[str, Any] | None = None, *, remedy: str = AGAIN
) -> dict[str, Any]:
    """The JSON object that a text stands for, checked like :func:`read_json`; ``source`` names it in errors."""
    try:
        content = json.loads(text, parse_int=_whole, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source} is not readable as JSON ({str(error)[:300]}); {remedy}") from error
    if not isinstance(content, dict):
        raise UsageError(f"{source} holds {type(content).__name__}, expected a JSON object; {remedy}")
    check_form(content, form or {}, source, remedy=remedy)
    return content


def _whole(word: str) -> int:
    if len(word) > 20 or not -(1 << 63) <= (number := int(word)) < 1 << 63:
        raise ValueError(f"{word[:40]} does not fit into 64 bits")
    return number


def _finite(word: str) -> float:
    if not isfinite(number := float(word)):
        raise ValueError(f"{word[:40]} is no finite number")
    return number


def check_form(content: Any, form: Any, source: str | Path, key: str = "", *, remedy: str = AGAIN) -> None:
    """Refuse a value that is not of a form: a type or union of types, ``[form of each]``, or ``{key: form}``.

    Keys that end in ``?`` may be missing. Numbers are ``float`` (whole ones too), and truth values no numbers.

    >>> check_form({"step": "3"}, {"step": int}, "run.json")
    Traceback (most recent call last):
    ...
    unbraid.errors.UsageError: run.json: step is str '3', expected int; get the file anew
    """
    if isinstance(form, dict):
        _check_type(content, dict, source, key, remedy)
        for name, inner in form.items():
            plain = name.removesuffix("?")
            if plain in content:
                check_form(content[plain], inner, source, f"{key}.{plain}".removeprefix("."), remedy=remedy)
            elif plain == name:
                where = f" of {key}" if key else ""
                raise UsageError(f"{source} has no entry {plain!r}{where}: not written by this library, or damaged")
    elif isinstance(form, list):
        _check_type(content, list, source, key, remedy)
        for number, item in enumerate(content):
            check_form(item, form[0], source, f"{key}[{number}]", remedy=remedy)
    else:
        _check_type(content, form, source, key, remedy)


def _check_type(content: Any, kind: Any, source: str | Path, key: str, remedy: str) -> None:
    wanted = kind | int if kind is float else kind
    truth = isinstance(content, bool) and kind not in (bool, object)
    if truth or not isinstance(content, wanted):
        name = getattr(kind, "__name__", str(kind))
        found = f"{type(content).__name__} {repr(content)[:40]}"
        raise UsageError(f"{source}: {key or 'it'} is {found}, expected {name}; {remedy}")


def parse_toml(text: str, source: str | Path) -> dict[str, Any]:
    """The table that a TOML text stands for; ``source`` names it in errors."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source} is not readable as TOML: {error}; mend it in an editor") from error


def read_csv(path: Path, *, limit: int = TEXT, remedy: str = AGAIN) -> list[list[str]]:
    """The rows of a CSV file in UTF-8."""
    return parse_csv(read_text(path, limit=limit, remedy=remedy), path, remedy=remedy)


def parse_csv(text: str, source: str | Path, *, remedy: str = AGAIN) -> list[list[str]]:
    """The rows that a CSV text stands for; ``source`` names it in errors."""
    # Cells of some published tables hold whole lists; the default limit of a field is 128 KB.
    csv.field_size_limit(1 << 24)
    with understood(source, remedy):
        return list(csv.reader(io.StringIO(text, newline="")))

"""Values of a study file: each is what its key asks for, or an error names the file, the key and what came."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from unbraid.errors import UsageError, unknown_name

__all__ = ["a_table", "a_text", "check_keys", "numbers", "texts", "whole"]


def check_keys(table: Mapping[str, Any], known: Iterable[str], source: str, prefix: str) -> None:
    for key in table:
        if key not in known:
            raise UsageError(f"{source}: {prefix}{key}: {unknown_name('key', key, known)}")


def a_table(value: Any, source: str, key: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{source}: {key} must be a table ([{key}]), got {value!r}")
    return dict(value)


def a_text(value: Any, source: str, key: str) -> str:
    if not isinstance(value, str) or not value:
        raise UsageError(f"{source}: {key} must be text, got {value!r}")
    return value


def texts(value: Any, source: str, key: str, *, empty: bool = False) -> tuple[str, ...]:
    values = [a_text(item, source, key) for item in (value if isinstance(value, list) else [value])]
    if (not values and not empty) or len(set(values)) < len(values):
        raise UsageError(f"{source}: {key} must be different names, at least one; got {values}")
    return tuple(values)


def whole(value: Any, source: str, key: str, *, least: int = 1, most: int = 2**63 - 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{source}: {key} must be a whole number of at least {least}, got {value!r}")
    if value > most:
        raise UsageError(f"{source}: {key} must be at most {most:,}, got {value:,}")
    return value


def numbers(value: Any, source: str, key: str, *, least: int = 1) -> tuple[int, ...]:
    values = [whole(item, source, key, least=least) for item in (value if isinstance(value, list) else [value])]
    if not values or len(set(values)) < len(values):
        raise UsageError(f"{source}: {key} must be different numbers, at least one; got {values}")
    return tuple(values)

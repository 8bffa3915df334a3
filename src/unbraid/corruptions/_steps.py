"""Several corruptions one after the other, as text: ``fog:severity=3 then jpeg_compression:severity=2``."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from unbraid.corruptions._registry import SUITES, Corruption, find
from unbraid.errors import UsageError, unknown_name
from unbraid.options import parse_name

__all__ = ["Asked", "Step", "chosen_steps", "numbered", "read_steps"]

_THEN = re.compile(r"\s+then\s+")


@dataclass(frozen=True)
class Step:
    """One corruption in one severity."""

    corruption: Corruption
    severity: int = 1

    def __post_init__(self) -> None:
        known, severity = self.corruption.severities, self.severity
        if isinstance(severity, bool) or not isinstance(severity, int | np.integer) or severity not in known:
            raise UsageError(
                f"severity of {self.corruption.full_name} must be one of {', '.join(map(str, known))}, got {severity!r}"
            )

    def __str__(self) -> str:
        """What :func:`read_steps` reads again."""
        return f"{self.corruption.short_name}:severity={self.severity}"


Asked = str | Corruption | Step | Sequence["str | Corruption | Step"]
"""A name, several joined by ``then``, or a list of them."""


def read_steps(asked: Asked, severity: int = 1) -> tuple[Step, ...]:
    """The steps that were asked for; those that do not say their severity have the one given.

    >>> [str(step) for step in read_steps("fog:severity=3 then contrast", severity=2)]
    ['fog:severity=3', 'contrast:severity=2']
    """
    if isinstance(asked, str):
        return tuple(_step(part, severity) for part in _THEN.split(asked.strip()))
    if isinstance(asked, Step):
        return (asked,)
    if isinstance(asked, Corruption) or not isinstance(asked, Sequence):
        return (Step(asked if isinstance(asked, Corruption) else find(asked), severity),)
    if not asked:
        raise UsageError("name is an empty list; give at least one corruption, such as ['fog:severity=3']")
    return tuple(step for part in asked for step in read_steps(part, severity))


def _step(text: str, severity: int) -> Step:
    name, options = parse_name(text)
    for key in options:
        if key != "severity":
            raise unknown_name(f"option of corruption {name!r}:", key, ("severity",))
    return Step(find(name), options.get("severity", severity))


def numbered(steps: Iterable[Step]) -> list[tuple[Step, int]]:
    """Each step with how often the same one came before it: a second helping of noise draws anew."""
    seen: dict[tuple[str, int], int] = {}
    found = []
    for step in steps:
        key = (step.corruption.full_name, int(step.severity))
        found.append((step, seen.get(key, 0)))
        seen[key] = seen.get(key, 0) + 1
    return found


def chosen_steps(names: Iterable[str], severities: Sequence[int]) -> list[tuple[Step, ...]]:
    """What suites, corruptions and chains of them (``fog:severity=3 then contrast``) stand for, each once.

    A corruption that does not say its severity comes in all of these that it has, or in its only one; the first of
    them is that of such a step of a chain.

    >>> [str(*steps) for steps in chosen_steps(["fog", "mnist-c/fog", "snow:severity=2"], (1, 5))]
    ['fog:severity=1', 'fog:severity=5', 'mnist-c/fog:severity=1', 'snow:severity=2']
    """
    if not severities:
        raise UsageError("severities must be at least one whole number, got none")
    found: list[tuple[Step, ...]] = []
    for name in names:
        if name in SUITES:
            if not SUITES[name]:
                raise UsageError(f"the suite {name!r} is empty; own corruptions are made known by a plugin")
            for corruption in SUITES[name].values():
                found += _each_severity(corruption, severities)
        elif "severity" in name or _THEN.search(name):
            found.append(read_steps(name, severities[0]))
        elif "/" not in name and name not in (known := [found for suite in SUITES.values() for found in suite]):
            raise unknown_name("corruption or suite", name, {*known, *SUITES})
        else:
            found += _each_severity(find(name), severities)
    if not found:
        raise UsageError(f"corruptions must name at least one, or a suite ({', '.join(SUITES)}), got none")
    return list({" then ".join(map(str, steps)): steps for steps in found}.values())


def _each_severity(corruption: Corruption, severities: Sequence[int]) -> list[tuple[Step, ...]]:
    chosen = corruption.severities if len(corruption.severities) == 1 else severities
    return [(Step(corruption, severity),) for severity in chosen]

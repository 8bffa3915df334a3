"""A claim: what was published, what is measured for it, and the rule that decides, as one declarative object."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

from unbraid.claims.code_text import code_hash
from unbraid.claims.group import GROUPS
from unbraid.claims.measured import Measured
from unbraid.claims.rules import Rule
from unbraid.claims.sources import Source
from unbraid.errors import UsageError, unknown_name

if TYPE_CHECKING:
    import polars as pl

__all__ = ["AREAS", "CLAIMS", "Claim", "DataKind", "Published", "Tables", "chosen", "claim", "printed"]

Tables = Mapping[str, "pl.DataFrame"]
"""The tables of run groups, by name."""
DataKind = Literal["real", "rendered", "stand-in", "toy", "exact"]
"""Real images; images of the published set drawn anew; another set in its place; numbers; no data at all."""
AREAS = ("study", "rpu", "slow", "pca", "generalization", "noise", "abs", "invariance", "transfer")
_ID = re.compile(r"[a-z]+/[a-z0-9-]+")


@dataclass(frozen=True)
class Published:
    """A number as it was printed."""

    name: str
    value: float
    sd: float | None = None
    unit: str = ""
    data: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "value": self.value, "sd": self.sd, "unit": self.unit, "data": self.data}


def printed(unit: str = "", data: str = "", /, **numbers: float) -> tuple[Published, ...]:
    """Numbers of one table: their names as keywords, ``_`` for a space."""
    return tuple(Published(name.replace("_", " "), value, None, unit, data) for name, value in numbers.items())


@dataclass(frozen=True)
class Claim:
    """A published statement that runs can confirm or not."""

    id: str
    """``area/words-with-hyphens``; never used again for another one."""
    source: Source
    statement: str
    rules: Mapping[str, Rule]
    """One per contrast; the claim is reproduced if all are."""
    measure: Callable[[Tables], Mapping[str, Measured]]
    """Tables to numbers, at least those that rules ask for; others are reported beside."""
    groups: tuple[str, ...]
    """The run groups it reads."""
    known: str
    """What was known when its rule was fixed, and what differs from the source at small scale."""
    data: DataKind
    published: tuple[Published, ...] = ()
    """Empty where the source has a figure only."""
    of_contrast: Mapping[str, float] = field(default_factory=dict)
    """The published value of a contrast, as the rule writes it: drawn beside the measured one."""
    cells: Mapping[str, Mapping[str, tuple[Any, ...]]] = field(default_factory=dict)
    """Which cells of a group it reads, by columns; without, all."""
    unit: str = ""
    notes: tuple[str, ...] = ()
    """Slips of the source that were corrected, and what a reader must know."""
    too_small: str = ""
    """Why a smoke run may leave without a number what it asks for; empty where every run has one."""
    amended: tuple[Mapping[str, Any], ...] = ()
    """Later changes: date, old, new, reason, whether results were known."""

    @property
    def area(self) -> str:
        return self.id.partition("/")[0]

    @property
    def statistical(self) -> bool:
        """Whether chance may decide it."""
        return any(rule.statistical for rule in self.rules.values())

    def definition(self) -> dict[str, Any]:
        """What was fixed before the runs, as plain data."""
        return {
            "id": self.id,
            "statement": self.statement,
            "groups": list(self.groups),
            "cells": {name: {key: list(v) for key, v in cells.items()} for name, cells in self.cells.items()},
            "rules": {name: {"rule": rule.letter, **rule.constants()} for name, rule in self.rules.items()},
        }

    def rule_hash(self, recipes: Mapping[str, str]) -> str:
        """A hash of definition, recipes and the code that measures and decides; another one voids earlier verdicts.

        Gates decide, too: below them nothing is judged. ``claims judge`` gives verdicts anew from the same runs; what
        runs and their measures give is in the recipes' keys.
        """
        from unbraid.claims.judging import judge_claim

        gates = [GROUPS[name].gate for name in self.groups if name in GROUPS]
        deciding = [type(rule) for rule in self.rules.values()] + [gate for gate in gates if gate is not None]
        code = code_hash(self.measure, judge_claim, *deciding)
        told = json.dumps([self.definition(), dict(sorted(recipes.items())), code], sort_keys=True, default=str)
        return hashlib.sha256(told.encode()).hexdigest()[:16]


CLAIMS: dict[str, Claim] = {}
"""All claims by id, in the order of their areas' files."""


def claim(
    name: str,
    source: Source,
    statement: str,
    *,
    groups: Sequence[str],
    rules: Mapping[str, Rule],
    known: str,
    data: DataKind,
    **options: Any,
) -> Callable[[Callable[[Tables], Mapping[str, Measured]]], Claim]:
    """Decorator: the function that measures becomes a registered claim."""
    if not _ID.fullmatch(name) or name.partition("/")[0] not in AREAS:
        raise UsageError(f"the id of a claim is area/words-with-hyphens, area one of {', '.join(AREAS)}; got {name!r}")
    if not rules or not groups or not known or not statement:
        raise UsageError(f"claim {name} needs groups, rules, a statement, and what is known")

    def keep(measure: Callable[[Tables], Mapping[str, Measured]]) -> Claim:
        made = Claim(name, source, statement, dict(rules), measure, tuple(groups), known, data, **options)
        earlier = CLAIMS.get(name)
        if earlier is not None and earlier.measure.__qualname__ != measure.__qualname__:
            raise UsageError(f"there is a claim {name!r} already; give yours another id")
        CLAIMS[name] = made
        return made

    return keep


def chosen(patterns: Sequence[str], known: Mapping[str, Claim]) -> list[Claim]:
    """The claims that ids or patterns name: ``slow/theorem-1``, ``slow/*``, ``all``."""
    if not patterns or list(patterns) == ["all"]:
        return list(known.values())
    found: dict[str, Claim] = {}
    for pattern in patterns:
        same = {key: one for key, one in known.items() if pattern in (key, one.area) or fnmatchcase(key, pattern)}
        if not same:
            near = [key for key in known if key.partition("/")[0] == pattern.partition("/")[0]]
            hint = "Areas and patterns do as well: slow, 'slow/*'. See unbraid claims list"
            raise unknown_name("claim", pattern, near or AREAS, hint)
        found |= same
    return [one for key, one in known.items() if key in found]

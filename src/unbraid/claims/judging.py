"""From tables to a verdict: measure, apply the rules, leave seeds out where a rule asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from unbraid.claims.claim import Claim, Tables
from unbraid.claims.conditions import J
from unbraid.claims.measured import Measured, Numbers
from unbraid.claims.outcome import Outcome, VerdictWord, combined
from unbraid.errors import UsageError

__all__ = ["Judged", "holm", "judge_claim", "seeds_of"]

BLOCKS = 10
"""Most groups of seeds that are left out in turn; fifty seeds of the published study are ten blocks of five."""
LEVEL = 0.025
"""One-sided, as the 95 % intervals of the rules are two-sided."""


@dataclass(frozen=True)
class Judged:
    """What the tables say of a claim."""

    verdict: VerdictWord
    sentence: str
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    measured: Mapping[str, Measured] = field(default_factory=dict)

    @property
    def p_value(self) -> float | None:
        """The largest of its contrasts: all must be beyond chance. ``None`` where a rule has none."""
        found = [one.statistic.get("p_value") for one in self.outcomes.values()]
        known = [float(chance) for chance in found if chance is not None]
        return max(known) if known and len(known) == len(found) else None

    def values(self) -> list[dict[str, Any]]:
        """What was measured, contrast by contrast."""
        return [
            {"name": name, "kind": type(one).__name__.lower(), "per_seed": one.rows()}
            | ({"names": list(one.each)} if isinstance(one, Numbers) else {})
            for name, one in self.measured.items()
        ]


def seeds_of(tables: Tables) -> list[int]:
    """All seeds of some tables."""
    found: set[int] = set()
    for table in tables.values():
        if "seed" in table.columns:
            found |= set(table["seed"].drop_nulls().to_list())
    return sorted(found)


def judge_claim(claim: Claim, tables: Tables) -> Judged:
    """The verdict of a claim, a pure function of its tables."""
    measured = claim.measure(tables)
    lacking = [name for name in claim.rules if name not in measured]
    if lacking:
        raise UsageError(f"claim {claim.id} measures no {lacking[0]!r}, which a rule of it asks for")
    outcomes: dict[str, Outcome] = {}
    each: list[Mapping[str, Measured]] | None = None
    for name, rule in claim.rules.items():
        if isinstance(rule, J):
            each = _without_seeds(claim, tables, measured) if each is None else each
            outcomes[name] = rule.judge_each([one[name] for one in each])
        else:
            outcomes[name] = rule.judge(measured[name])
    several = len(outcomes) > 1
    sentence = "; ".join(f"{name}: {one.sentence}" if several else one.sentence for name, one in outcomes.items())
    return Judged(combined(list(outcomes.values())), sentence, outcomes, measured)


def _without_seeds(claim: Claim, tables: Tables, whole: Mapping[str, Measured]) -> list[Mapping[str, Measured]]:
    seeds = seeds_of(tables)
    if len(seeds) < 2:
        return [whole]
    blocks = np.array_split(np.array(seeds), min(BLOCKS, len(seeds)))
    return [whole, *(claim.measure(_leave(tables, block.tolist())) for block in blocks)]


def _leave(tables: Tables, seeds: Sequence[int]) -> dict[str, pl.DataFrame]:
    return {
        name: table.filter(pl.col("seed").is_in(seeds).not_().fill_null(True)) if "seed" in table.columns else table
        for name, table in tables.items()
    }


def holm(chances: Mapping[str, float]) -> dict[str, float]:
    """P-values adjusted for their number by Holm's steps.

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'c': 0.06, 'b': 0.06}
    """
    adjusted: dict[str, float] = {}
    largest = 0.0
    for place, (name, chance) in enumerate(sorted(chances.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, (len(chances) - place) * chance))
        adjusted[name] = round(largest, 12)
    return adjusted

"""The matrix: biases by scenarios, each cell the paired difference to the vanilla twin, one verdict per row."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.errors import UsageError, unknown_name
from unbraid.evaluation import Verdict
from unbraid.transfer.agreement import agreement, agreement_within
from unbraid.transfer.combining import Pairing, combination
from unbraid.transfer.effects import Effect, effect_of, holm
from unbraid.transfer.judging import verdict
from unbraid.transfer.recipes import VANILLA, biases, canonical, own_scenarios, twin_of
from unbraid.transfer.scenario import get, names

if TYPE_CHECKING:
    import polars

    from unbraid.transfer.folder import MatrixFolder

__all__ = ["Matrix", "in_order", "matrix"]

BETTER, WORSE = "#0b66b3", "#c24b00"
"""Colours of a notebook's table: those of the page, told apart by colour-blind readers."""
Values = Mapping[str, Mapping[str, Mapping[int, float]]]
"""By bias, scenario and seed."""


@dataclass(frozen=True)
class Matrix:
    """What every bias does to every scenario on one domain.

    ``print(matrix)`` shows words, ``matrix.table()`` has every number, ``matrix.verdicts`` one word per bias.
    """

    domain: str
    values: Values
    scenarios: tuple[str, ...]
    """Columns, in the order in which they are shown."""

    @property
    def biases(self) -> tuple[str, ...]:
        """Rows: all but vanilla, whose differences to itself say nothing."""
        return tuple(name for name in self.values if name != VANILLA)

    @cached_property
    def effects(self) -> dict[str, dict[str, Effect]]:
        """By bias and scenario, with p-values adjusted over the row; cells without numbers are left out."""
        found = {}
        for name in self.biases:
            twin = twin_of(name)
            both = [self.values[name], self.values.get(twin, {})]
            row = [self.effect(one, name, twin) for one in self.scenarios if all(each.get(one) for each in both)]
            found[name] = {one.scenario: one for one in holm(row) if one.seeds}
        return found

    def effect(self, scenario: str, bias: str, other: str) -> Effect:
        """The difference of one row to another on a scenario that both were asked."""
        values, others = (self.values[name][scenario] for name in (bias, other))
        return effect_of(scenario, values, others, interest=get(scenario).interest, relative=_relative(scenario))

    @cached_property
    def verdicts(self) -> dict[str, Verdict]:
        return {name: verdict(row, own_scenarios(name)) for name, row in self.effects.items()}

    def pairings(self, first: str, second: str) -> dict[str, Pairing]:
        """Two biases and both at once, by scenario; what cannot stand alone buys nothing alone: vanilla's numbers."""
        both = canonical(f"{first}+{second}")
        rows = (VANILLA, *(self._alone(name) for name in (first, second)), both)
        for name in rows:
            if name not in self.values:
                raise unknown_name("bias of this matrix", name, self.values)
        found = {}
        for one in self.scenarios:
            four = [self.values[name].get(one) for name in rows]
            if all(four):
                told = {"interest": get(one).interest, "relative": _relative(one)}
                found[one] = Pairing.of(one, *four, **told)  # type: ignore[arg-type]
        return found

    def _alone(self, name: str) -> str:
        (part, *more) = biases(name)
        return VANILLA if part.kind == "reading" and not more else canonical(name)

    def combination(self, first: str, second: str) -> Verdict:
        """What two biases do together."""
        own = [own_scenarios(name) if self._alone(name) != VANILLA else biases(name)[0].own for name in (first, second)]
        return combination(self.pairings(first, second), *own)

    @cached_property
    def combinations(self) -> dict[tuple[str, str], Verdict]:
        """Of all rows that are two others at once."""
        found = {}
        for name in self.biases:
            parts = [part.name for part in biases(name)]
            if len(parts) == 2 and all(row in self.values for row in (VANILLA, *map(self._alone, parts))):
                found[parts[0], parts[1]] = self.combination(*parts)
        return found

    def models(self) -> tuple[list[tuple[str, int]], np.ndarray]:
        """All models, by bias and seed, and their numbers ``[models, scenarios]``; not a number where there is none."""
        rows = [
            (name, seed)
            for name, row in self.values.items()
            for seed in sorted({seed for by_seed in row.values() for seed in by_seed})
        ]
        cells = [[self.values[name].get(one, {}).get(seed, np.nan) for one in self.scenarios] for name, seed in rows]
        return rows, np.array(cells, dtype=np.float64).reshape(len(rows), len(self.scenarios))

    def agreement(self) -> np.ndarray:
        """Rank correlation of scenarios over all models."""
        return agreement(self.models()[1])

    def agreement_within(self) -> tuple[np.ndarray, np.ndarray]:
        """The same over seeds of one bias, averaged over biases, and of how many."""
        rows, values = self.models()
        return agreement_within(values, [name for name, _ in rows])

    def table(self) -> polars.DataFrame:
        """One row per bias and scenario."""
        import polars

        rows = []
        for name, row in self.effects.items():
            own = own_scenarios(name)
            for one in row.values():
                rows.append(
                    {
                        "domain": self.domain,
                        "bias": name,
                        "twin": twin_of(name),
                        "scenario": one.scenario,
                        "own": one.scenario in own,
                        "value": float(np.mean(one.values)),
                        "twin_value": float(np.mean(one.twins)),
                        "effect": one.mean,
                        "standard_error": one.error,
                        "seeds": len(one.seeds),
                        "word": one.word,
                        "p": one.p,
                        "holm": one.adjusted,
                        "survives": one.survives,
                    }
                )
        return polars.DataFrame(rows)

    def to_json(self) -> dict[str, Any]:
        """Everything, as JSON holds it."""
        return {
            "domain": self.domain,
            "scenarios": list(self.scenarios),
            "values": {
                bias: {one: {str(seed): value for seed, value in by_seed.items()} for one, by_seed in row.items()}
                for bias, row in self.values.items()
            },
            "verdicts": {bias: {"word": one.word, "sentence": one.sentence} for bias, one in self.verdicts.items()},
            "combinations": {
                "+".join(pair): {"word": one.word, "sentence": one.sentence} for pair, one in self.combinations.items()
            },
        }

    def __str__(self) -> str:
        width = max((len(name) for name in self.biases), default=0)
        lines = [f"{self.domain}: differences to the vanilla twin"]
        for name, row in self.effects.items():
            cells = ", ".join(f"{one.scenario} {one.mean:+.3g} ({one.word})" for one in row.values())
            lines.append(f"  {name:{width}s}  {self.verdicts[name].word}: {cells}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        columns = [one for one in self.scenarios if any(one in row for row in self.effects.values())]
        head = "".join(f"<th>{escape(get(one).title)}</th>" for one in columns)
        body = ""
        for name, row in self.effects.items():
            cells = "".join(_cell(row.get(one), one in own_scenarios(name)) for one in columns)
            told = self.verdicts[name]
            body += (
                f"<tr><th style='white-space:nowrap'>{escape(name)}</th>"
                f"<td style='white-space:nowrap' title='{escape(told.sentence)}'>{escape(told.word)}</td>{cells}</tr>"
            )
        caption = (
            f"<caption style='text-align:left'>{escape(self.domain)}: differences to the vanilla twin, in points or in "
            "percent of distances; blue is better, orange worse, underlined undecided; frames: own scenarios</caption>"
        )
        table = f"<table>{caption}<tr><th>bias</th><th>verdict</th>{head}</tr>{body}</table>"
        return f"<div style='overflow-x:auto'>{table}</div>"


def matrix(source: str | Path | MatrixFolder | Values, domain: str = "", *, scenarios: Sequence[str] = ()) -> Matrix:
    """The matrix of a folder that ``unbraid transfer run`` filled, or of numbers by bias, scenario and seed.

    ``domain`` chooses one where a folder has several.

    >>> made = {"vanilla": {"noise": {0: 0.5, 1: 0.5, 2: 0.5}}, "gaussian-noise": {"noise": {0: 0.7, 1: 0.7, 2: 0.8}}}
    >>> matrix(made, "digits").verdicts["gaussian-noise"].word
    'specific'
    """
    if isinstance(source, Mapping):
        told = tuple(scenarios) or tuple(dict.fromkeys(one for row in source.values() for one in row))
        return Matrix(domain or "own", {canonical(name): row for name, row in source.items()}, told)
    from unbraid.transfer.folder import open_matrix

    folder = open_matrix(source) if isinstance(source, str | Path) else source
    plan = folder.plan
    if not domain and len(plan.domains) > 1:
        raise UsageError(f"domain must be one of {', '.join(plan.domains)}: this folder has several")
    chosen = domain or plan.domains[0]
    if chosen not in plan.domains:
        raise unknown_name("domain of this matrix", chosen, plan.domains)
    values: dict[str, dict[str, dict[int, float]]] = {name: {} for name in plan.biases}
    for cell in plan.cells():
        found = folder.cell(cell) if cell.domain == chosen else None
        if found is not None and found["value"] is not None:
            values[cell.bias].setdefault(cell.scenario, {})[cell.seed] = float(found["value"])
    return Matrix(chosen, {name: row for name, row in values.items() if row}, in_order(plan.scenarios))


def in_order(scenarios: Collection[str]) -> tuple[str, ...]:
    """Scenarios in the order in which matrices show them, whichever was asked first."""
    return tuple(name for name in names() if name in scenarios)


def _relative(scenario: str) -> bool:
    return get(scenario).unit == "distance"


def _cell(effect: Effect | None, own: bool) -> str:
    if effect is None:
        return "<td></td>"
    frame = "outline:2px solid currentColor;outline-offset:-2px;" if own else ""
    colour = BETTER if effect.mean > 0 else WORSE
    scale = 100 / max(abs(float(np.mean(effect.twins))), 1e-12) if _relative(effect.scenario) else 100
    shown = round(scale * effect.mean)
    style = {"better": f"background:{colour}66", "worse": f"background:{colour}66", "unchanged": "opacity:.7"}
    look = style.get(effect.word, f"box-shadow:inset 0 -3px {colour}aa" if shown else "")
    text = f"{shown:+d}".replace("-", "−") if shown else "0"
    return f"<td style='{frame}{look}' title='{escape(str(effect))}'>{text}</td>"

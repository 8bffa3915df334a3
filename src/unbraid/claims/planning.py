"""What of which run groups some claims read, in which order, and what of it is still to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unbraid.claims.claim import Claim
from unbraid.claims.group import GROUPS, Cell, Group, Scale
from unbraid.data import entry, parse
from unbraid.paths import quoted

__all__ = ["Planned", "lacking_data", "plan"]


@dataclass(frozen=True)
class Planned:
    """One group of a plan: what of it is asked for, and what is still to do."""

    group: Group
    scale: Scale
    cells: tuple[Cell, ...]
    todo: tuple[Cell, ...]

    @property
    def minutes(self) -> float:
        """Expected, of what is still to do."""
        return self.group.minutes(self.scale, self.todo)

    def command(self, out: Path, asked: Sequence[str] = ()) -> str:
        """The command that does it alone, as far as claims asked for read it."""
        words = "".join(f" {quoted(one)}" for one in asked)
        return f"unbraid claims run{words} --group {self.group.name} --scale {self.scale} --out {quoted(out)}"


def plan(claims: Sequence[Claim], scale: Scale, out: Path) -> list[Planned]:
    """The groups of some claims in an order in which each comes after those it needs."""
    found: dict[str, Planned] = {}
    for group in reversed(_ordered({name for one in claims for name in one.groups})):
        lacking = {name for name, one in found.items() if one.todo and group.name in one.group.needs}
        cells = _cells(group, scale, claims)
        asked = _cells(group, scale, [one for one in claims if lacking & set(one.groups)])
        found[group.name] = Planned(group, scale, tuple(cells), tuple(group.todo(out, scale, cells, asked)))
    return list(reversed(found.values()))


def _cells(group: Group, scale: Scale, claims: Sequence[Claim]) -> list[Cell]:
    """The cells of a group that some claims read."""
    claims = [one for one in claims if group.name in one.groups]
    if not claims:
        return []
    if scale == "paper" or any(group.name not in one.cells for one in claims):
        return group.cells(scale)  # the cells that claims name are those of small recipes
    return group.chosen(scale, [one.cells[group.name] for one in claims])


def _ordered(names: set[str]) -> list[Group]:
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        for other in GROUPS[name].needs:
            if other in names:
                visit(other)
        order[name] = None

    for name in GROUPS:
        if name in names:
            visit(name)
    return [GROUPS[name] for name in order]


def lacking_data(group: Group, scale: Scale) -> str:
    """Why the data of a group are not here; empty if they are."""
    for name in group.recipes[scale].data:
        known = entry(parse(name)[0])
        if not known.on_disk and not known.made:
            return f"data set {known.name} is not here ({', '.join(known.files)}): unbraid data get {known.name}"
    return ""

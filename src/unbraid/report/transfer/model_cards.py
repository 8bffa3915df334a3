"""The cards of a matrix's page: all numbers of a bias's models, beside its twin's, chance and the most there is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from unbraid.errors import UsageError
from unbraid.report.page.markup import Html, tag
from unbraid.report.page.tables import data_table
from unbraid.report.transfer.heat import anchor
from unbraid.transfer import DOMAINS, Matrix, get_scenario, twin_of

if TYPE_CHECKING:
    import polars

__all__ = ["cards", "doubts_of", "limits"]

ATTACKED = ("l0", "l2", "linf")
DOUBTS = "doubts"
"""The detail of an attacked cell that says how many signs of masked gradients were seen; absent if none was sought."""
NOT_SOUGHT = "not looked for"


def cards(found: Matrix, cells: polars.DataFrame | None = None) -> Html:
    """One per bias, closed; a press on a cell of the matrix opens its own."""
    about = limits(found.domain)
    return tag("div", [_card(found, bias, about, doubts_of(cells, found.domain, bias)) for bias in found.values],
               class_="cards")  # fmt: skip


def limits(domain: str) -> tuple[int, tuple[int, ...]] | None:
    """How many classes a domain has, and the shape of its images; ``None`` where its data are not at hand."""
    known = DOMAINS.get(domain)
    if known is None:
        return None
    try:
        data = known.load()
    except (UsageError, OSError):
        return None
    if not known.factor:
        return len(data.classes), data.shape
    sizes = data.factor_sizes
    return None if sizes is None else (sizes[data.factor_names.index(known.factor)], data.shape)


def doubts_of(cells: polars.DataFrame | None, domain: str, bias: str) -> str:
    """What was seen of masked gradients in the attacks on a bias's models, in words."""
    if cells is None:
        return NOT_SOUGHT
    found: dict[str, list[int]] = {}
    for scenario, text in cells.filter(domain=domain, bias=bias).select("scenario", "details").iter_rows():
        details = json.loads(text) if scenario in ATTACKED else {}
        if DOUBTS in details:
            found.setdefault(get_scenario(scenario).title, []).append(int(details[DOUBTS]))
    if not found:
        return NOT_SOUGHT
    seen = [f"{title} in {sum(map(bool, counts))} of {len(counts)} models" for title, counts in found.items()
            if any(counts)]  # fmt: skip
    return ", ".join(seen) if seen else f"none, looked for under {', '.join(found)}"


def _card(found: Matrix, bias: str, about: tuple[int, tuple[int, ...]] | None, doubts: str) -> Html:
    twin = found.values.get(twin_of(bias), {}) if bias != "vanilla" else {}
    rows = []
    for one in found.scenarios:
        by_seed = found.values[bias].get(one)
        if by_seed:
            known, beside = get_scenario(one), twin.get(one)
            each = ", ".join(f"{value:.3g}" for _, value in sorted(by_seed.items()))
            mean = float(np.mean(list(by_seed.values())))
            other = None if not beside else float(np.mean(list(beside.values())))
            chance = known().chance(about[0]) if about and known.unit in ("accuracy", "R²") else None
            most = known().ceiling(about[1]) if about else None
            rows.append([known.title, mean, other, chance, most, known.unit, each])
    seeds = sorted({seed for by_seed in found.values[bias].values() for seed in by_seed})
    columns = ["scenario", "mean", "twin", "chance", "at most", "unit", f"seeds {', '.join(map(str, seeds))}"]
    word = found.verdicts[bias].word if bias in found.verdicts else ""
    summary = tag("summary", tag("h3", bias), tag("small", f" {word}") if word else None)
    doubt = tag("p", "Signs of masked gradients: ", doubts, ".")
    table = data_table(columns, rows, f"Card of {bias} on {found.domain}")
    return tag("details", summary, table, doubt, id=anchor(found, bias), class_="card")

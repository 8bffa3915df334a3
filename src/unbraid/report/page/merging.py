"""The section about unified scores: matrices by aggregations, groups of factors, and the tree they merge in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unbraid.metrics import AGGREGATIONS, MATRICES
from unbraid.report.page.axes import number
from unbraid.report.page.captions import RUN
from unbraid.report.page.charts import Series, legend, line_chart
from unbraid.report.page.markup import Html, Section, figure, section, tag
from unbraid.report.page.matching import factor_names
from unbraid.report.page.model import Look
from unbraid.report.page.svg import WIDTH, label, svg
from unbraid.report.page.tables import heat_table

__all__ = ["dendrogram", "merging_section"]

_LEFT, _RIGHT, _ROW, _TOP = 110, 16, 24, 34


def merging_section(look: Look) -> Section | None:
    """Where scores disagree, and which factors share latents."""
    score = (look.scores or {}).get("unified")
    if score is None or not all(f"{matrix}_merging" in score.parts for matrix in MATRICES):
        return None
    titles = [heading for heading, _ in AGGREGATIONS.values()]
    crossed = np.array([[score.parts[f"{matrix}_{name}"] for name in AGGREGATIONS] for matrix in MATRICES])
    names = factor_names(look, score)
    curves, trees = [], []
    for tone, matrix in enumerate(MATRICES):
        found = score.parts[f"{matrix}_merging"]
        top = float(np.max(found["thresholds"])) or 1.0
        curves.append(_steps(matrix, np.asarray(found["thresholds"]) / top, np.asarray(found["groups"]), tone))
        trees.append(dendrogram(found, names, f"Factors merge: {matrix}"))
    chart = line_chart(
        curves, "Independent groups", x_label="threshold (share of the largest entry)", y_label="groups",
        within=(0.0, float(len(names))), logarithmic=False,
    )  # fmt: skip
    return section(
        "Where scores disagree",
        figure(RUN["crossed"], heat_table(crossed, list(MATRICES), titles, "Matrix by aggregation", high=1.0)),
        figure(
            RUN["merging"],
            tag("div", tag("div", chart, legend([curve.name for curve in curves])), trees, class_="grid"),
        ),
        short="Groups",
    )


def _steps(name: str, thresholds: np.ndarray, groups: np.ndarray, tone: int) -> Series:
    """The number of groups as the step function it is; between two thresholds that of the upper one."""
    x = np.repeat(thresholds, 2)[1:]
    return Series(name, x[::-1], np.repeat(groups, 2)[:-1][::-1], tone)


def dendrogram(merging: Mapping[str, Any], names: Sequence[str], title: str) -> Html:
    """Factors as leaves, each from its strongest entry on, joined where they come to share codes."""
    strength = np.asarray(merging["entanglement"], dtype=float)
    top = float(strength.max()) or 1.0
    order = _order(len(names), merging["merges"])
    place = {leaf: _TOP + _ROW * (row + 0.5) for row, leaf in enumerate(order)}

    def x(height: float) -> float:
        """The strongest entries lie at the left, next to the names; what merges late does so far to the right."""
        return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * (1 - height / top), 1)

    body = [label(title, 8, 18)]
    body += [label(str(name), _LEFT - 8, place[leaf] + 4, "end") for leaf, name in enumerate(names)]
    ends: dict[tuple[int, ...], tuple[float, float]] = {
        (leaf,): (x(float(strength[leaf, leaf])), place[leaf]) for leaf in order
    }
    lines = []
    for height, left, right in merging["merges"]:
        first, second = (ends.pop(tuple(int(leaf) for leaf in side)) for side in (left, right))
        at = x(float(height))
        lines.append(f"M{first[0]} {first[1]}H{at}V{second[1]}H{second[0]}")
        ends[tuple(sorted(int(leaf) for leaf in (*left, *right)))] = (at, (first[1] + second[1]) / 2)
    lines += [f"M{at} {height}H{x(0.0)}" for at, height in ends.values()]
    body.append(tag("path", d="".join(lines), class_="curve t0"))
    bottom = _TOP + _ROW * len(names) + 18
    body += [label(number(top, 2), _LEFT, bottom), label("0", WIDTH - _RIGHT, bottom, "end")]
    told = []
    for height, *sides in merging["merges"]:
        one, other = (", ".join(str(names[int(leaf)]) for leaf in side) for side in sides)
        told.append(f"{one} and {other} at {number(height)}")
    merged = "; ".join(told)
    return svg(body, f"{title}: {merged or 'none do'}", (WIDTH, int(bottom + 10)))


def _order(leaves: int, merges: Sequence[Sequence[Any]]) -> list[int]:
    """Leaves so that those that merge stand together."""
    groups: dict[tuple[int, ...], list[int]] = {(leaf,): [leaf] for leaf in range(leaves)}
    for _, left, right in merges:
        first, second = (groups.pop(tuple(int(leaf) for leaf in side)) for side in (left, right))
        groups[tuple(sorted((*first, *second)))] = [*first, *second]
    return [leaf for group in groups.values() for leaf in group]

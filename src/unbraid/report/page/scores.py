"""Scores as values against ceilings."""

from __future__ import annotations

import math

from unbraid.metrics import METRICS, Score
from unbraid.report.page.axes import number
from unbraid.report.page.captions import RUN
from unbraid.report.page.charts import bullet
from unbraid.report.page.markup import Html, Section, figure, section, tag
from unbraid.report.page.model import Look
from unbraid.report.page.tables import scroll
from unbraid.report.page.words import about_score, score_name

__all__ = ["scores_section"]

_PARTS = {
    "dci": (("completeness", "dci_completeness", None), ("informativeness_test", "dci_informativeness_test", None)),
    "infomec": (("infoc", "infomec_infoc", "infoc_ceiling"), ("infoe", "infomec_infoe", None)),
}
"""Scores that are several: the part, its name, and the part that is its ceiling (otherwise 1)."""


def scores_section(look: Look) -> Section | None:
    """The table of a run's scores."""
    if not look.scores:
        return None
    kinds = {"Score": None, "Value": "num", "Against its ceiling": None}
    head = tag("tr", [tag("th", text, scope="col", class_=kind) for text, kind in kinds.items()])
    rows = [tag("tr", row) for name, score in look.scores.items() for row in _rows(name, score)]
    table = tag(
        "table", tag("caption", "Scores", class_="unseen"), tag("thead", head), tag("tbody", rows), class_="data scores"
    )
    return section("Scores", figure(f"{RUN['scores']} {look.scores_from}", scroll(table, "Scores")))


def _rows(name: str, score: Score) -> list[list[Html]]:
    rows = [_row(name, score.value, score.ceiling)]
    for key, label, bound in _PARTS.get(name, ()):
        value = score.parts.get(key)
        if isinstance(value, int | float):
            ceiling = 1.0 if bound is None else score.parts.get(bound)
            rows.append(_row(label, float(value), math.nan if ceiling is None else float(ceiling)))
    return rows


def _row(name: str, value: float, ceiling: float) -> list[Html]:
    entry, about = METRICS.get(name), about_score(name)
    bound = "" if math.isnan(ceiling) else f" of {number(ceiling)}"
    low = entry.range[0] if entry is not None and math.isfinite(entry.range[0]) else 0.0
    if entry is not None and not math.isfinite(entry.range[1]):
        chart = tag("small", "" if entry.higher_is_better else "lower is better")
    else:
        chart = bullet(value, ceiling, min(low, 0.0))
    return [
        tag("th", tag("span", score_name(name)), tag("small", about) if about else None, scope="row"),
        tag("td", tag("b", number(value)), tag("small", bound), class_="num", data_score=name, data_value=repr(value)),
        tag("td", chart),
    ]

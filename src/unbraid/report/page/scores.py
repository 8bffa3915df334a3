"""Scores as values against ceilings."""

from __future__ import annotations

import math

from unbraid.evaluation import title
from unbraid.metrics import METRICS, Score
from unbraid.report.page.axes import number
from unbraid.report.page.captions import RUN
from unbraid.report.page.charts import bullet
from unbraid.report.page.markup import Html, Section, figure, section, tag
from unbraid.report.page.model import Look
from unbraid.report.page.tables import scroll

__all__ = ["scores_section"]


def scores_section(look: Look) -> Section | None:
    """The table of a run's scores."""
    if not look.scores:
        return None
    caption = "scores" if any(math.isfinite(score.ceiling) for score in look.scores.values()) else "plain_scores"
    kinds = {"Score": None, "Value": "num", "Against its ceiling": None}
    head = tag("tr", [tag("th", text, scope="col", class_=kind) for text, kind in kinds.items()])
    rows = [tag("tr", row) for name, score in look.scores.items() for row in _rows(name, score)]
    table = tag(
        "table", tag("caption", "Scores", class_="unseen"), tag("thead", head), tag("tbody", rows), class_="data scores"
    )
    return section("Scores", figure(f"{RUN[caption]} {look.scores_from}", scroll(table, "Scores")))


def _rows(name: str, score: Score) -> list[list[Html]]:
    if "not_possible" in score.settings:
        about = tag("small", f"not possible: {score.settings['not_possible']}")
        return [[tag("th", tag("span", title(name)), about, scope="row"), tag("td", "-", class_="num"), tag("td", "")]]
    rows = [_row(name, score.value, score.ceiling)]
    entry = METRICS.get(name)
    if isinstance(live := score.parts.get("live"), int | float):
        rows.append(_row(name, float(live), math.nan, f"{title(name)}, live codes only ({score.parts['live_codes']})"))
    for key, heading in {} if entry is None or name == "unified" else entry.parts.items():  # they have a section
        value = score.parts.get(key)
        if isinstance(value, int | float) and heading != entry.title:
            ceiling = score.parts.get(f"{key}_ceiling", entry.range[1])
            rows.append(_row(f"{name}_{key}", float(value), math.nan if ceiling is None else float(ceiling)))
    return rows


def _row(name: str, value: float, ceiling: float, heading: str = "") -> list[Html]:
    entry = METRICS.get(name)
    about = "" if entry is None else entry.about
    bound = "" if math.isnan(ceiling) else f" of {number(ceiling)}"
    if math.isfinite(ceiling) and round(value, 3) > round(ceiling, 3):
        bound = f" above {number(ceiling)}"
    low = entry.range[0] if entry is not None and math.isfinite(entry.range[0]) else 0.0
    if entry is not None and not math.isfinite(entry.range[1]):
        chart = tag("small", "" if entry.higher_is_better else "lower is better")
    else:
        chart = bullet(value, ceiling, min(low, 0.0))
    return [
        tag("th", tag("span", heading or title(name)), tag("small", about) if about else None, scope="row"),
        tag(
            "td",
            tag("b", number(value)),
            tag("small", bound),
            class_="num",
            data_score=None if heading else name,
            data_value=repr(value),
        ),
        tag("td", chart),
    ]

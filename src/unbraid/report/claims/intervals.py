"""An interval on its axis: measured, asked for and published."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from unbraid.report.page.axes import Scale, number, without_dust
from unbraid.report.page.markup import Html, tag
from unbraid.report.page.svg import label, svg

__all__ = ["interval_bar", "measured_words"]

WIDTH, HEIGHT = 250, 46
NULL = {"P": 0.0, "E": 0.0, "N": 0.0, "M": 1.0, "C": 0.0, "S": 1.0}
"""What no effect would be, by rule."""


def interval_bar(statistic: Mapping[str, Any], published: float | None) -> Html | None:
    """A line from low to high with its point; asked is a dashed line, no effect a thin one, published a ring."""
    point, low, high = (_finite(statistic.get(key)) for key in ("mean", "low", "high"))
    point = _finite(statistic.get("point")) if point is None else point
    if point is None or low is None or high is None:
        return None
    null, asked = NULL.get(str(statistic["rule"])), _asked(statistic)
    marks = [value for value in (null, asked, published, low, high, point) if value is not None]
    axis = Scale.over(marks, 8, WIDTH - 8, pad=0.06)
    middle, body = 16, []
    if null is not None:
        body.append(tag("path", d=f"M{axis(null)} 4V28", class_="rule"))
    if asked is not None:
        body.append(tag("path", d=f"M{axis(asked)} 4V28", class_="guide"))
    body.append(tag("path", d=f"M{axis(low)} {middle}H{axis(high)}", class_="median"))
    body.append(tag("path", d=f"M{axis(point)} {middle}h0", class_="dots huge t0"))
    if published is not None:
        body.append(tag("circle", cx=axis(published), cy=middle, r=5, class_="ring"))
    ends = [min(marks), max(marks)]
    body.append(label(number(ends[0]), axis(ends[0]), 42, "start"))
    body.append(label(number(ends[1]), axis(ends[1]), 42, "end"))
    about = f"{statistic['name']}: {number(point)}, from {number(low)} to {number(high)}"
    about += "" if asked is None else f"; {number(asked)} is asked"
    about += "" if published is None else f"; published {number(published)}"
    return svg(body, about, (WIDTH, HEIGHT))


def measured_words(statistic: Mapping[str, Any]) -> str:
    """A number with its interval."""
    point = _finite(statistic.get("mean"))
    point = _finite(statistic.get("point")) if point is None else point
    if point is None:
        return ""
    low, high = (_finite(statistic.get(key)) for key in ("low", "high"))
    ends = "" if low is None or high is None else f" [{number(low)} to {number(high)}]"
    return f"{number(point)}{ends}"


def _asked(statistic: Mapping[str, Any]) -> float | None:
    """The one constant of rules that have one."""
    found = [value for value in dict(statistic.get("constants", {})).values() if isinstance(value, int | float)]
    return float(found[0]) if len(found) == 1 else None


def _finite(value: Any) -> float | None:
    return without_dust(float(value)) if isinstance(value, int | float) and math.isfinite(value) else None

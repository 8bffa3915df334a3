"""Charts of named rows along one axis of R²: marks with intervals, bars, stacks. Drawn as far as a phone is wide."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unbraid.report.page.axes import number
from unbraid.report.page.markup import Html, tag
from unbraid.report.page.svg import WIDTH, label, svg, tone_of

__all__ = ["LEFT", "Mark", "Row", "legend_of", "mark_rows", "stacks"]

LEFT, RIGHT, TOP = 118, 16, 30
LANE = 9
"""Height of a mark with its interval."""
LETTERS, LINE = 18, 11
"""What a line of a name holds, and its height."""
_FOOT = 36


@dataclass(frozen=True)
class Mark:
    """A mean over seeds with an interval, in the lane of its colour."""

    value: float
    tone: int
    low: float | None = None
    high: float | None = None
    tick: float | None = None
    """A line to hold it against."""
    about: str = ""


@dataclass(frozen=True)
class Row:
    """A name with marks under each other."""

    name: str
    marks: Sequence[Mark]
    line: bool = False
    """Marks are lines in the place of dots, for what is not a model."""
    bars: bool = False


def mark_rows(
    rows: Sequence[Row], title: str, *, x_label: str, about: str, low: float = 0.0, high: float = 1.0
) -> Html:
    """Rows of marks between ``low`` and ``high``; what lies outside is drawn at the end, with an arrow head."""
    names = [name_lines(row.name) for row in rows]
    heights = [
        max(LANE * max(len(row.marks), 1), LINE * len(lines)) + 7 for row, lines in zip(rows, names, strict=True)
    ]
    bottom = TOP + sum(heights)
    left, right = LEFT, WIDTH - RIGHT

    def across(value: float) -> float:
        return round(left + (min(max(value, low), high) - low) / (high - low) * (right - left), 1)

    body: list[Html] = [tag("text", title, x=0, y=14, class_="name")]
    for tick in np.linspace(low, high, 5) if low == 0 else np.arange(np.ceil(low * 2) / 2, high + 1e-9, 0.5):
        at = across(float(tick))
        body += [
            tag("path", d=f"M{at} {TOP - 4}V{bottom}", class_="grid"),
            label(number(float(tick)), at, bottom + 14, "middle"),
        ]
    y = TOP
    for place, (row, height) in enumerate(zip(rows, heights, strict=True)):
        if place:
            kind = "rule" if row.line and not rows[place - 1].line else "grid"
            body.append(tag("path", d=f"M0 {y - 3}H{right}", class_=kind))
        top = y + height / 2 + 1 - LINE * (len(names[place]) - 1) / 2
        body += [label(line, left - 8, top + LINE * k, "end") for k, line in enumerate(names[place])]
        for lane, mark in enumerate(row.marks):
            if not np.isfinite(mark.value):
                continue
            middle = round(y + LANE * (lane + 0.5), 1)
            body += _mark(mark, middle, across, row, low, high)
        y += height
    body.append(label(x_label, (left + right) / 2, bottom + 30, "middle"))
    return svg(body, about, (WIDTH, bottom + _FOOT))


def name_lines(name: str) -> list[str]:
    """A name in lines that fit beside a chart, broken where it lists things.

    >>> name_lines("CNN, gaussian-noise:sigma=0.1 + blur")
    ['CNN,', 'gaussian-noise:', 'sigma=0.1 + blur']
    """
    lines = [""]
    for piece in re.split(r"(?<=, )|(?<= \+ )|(?<=:)", name):
        if lines[-1] and len(lines[-1] + piece.rstrip()) > LETTERS:
            lines.append("")
        lines[-1] += piece
    return [line.strip() for line in lines]


def _mark(mark: Mark, y: float, across, row: Row, low: float, high: float) -> list[Html]:  # type: ignore[no-untyped-def]
    tone, at = tone_of(mark.tone), across(mark.value)
    drawn: list[Html] = []
    if mark.tick is not None:
        drawn.append(tag("path", d=f"M{across(mark.tick)} {y - 4}v8", class_=f"ceiling {tone}"))
    if row.bars:
        zero = across(max(low, 0.0))
        drawn.append(
            tag(
                "rect", x=min(zero, at), y=y - 3.5, width=max(abs(at - zero), 1), height=7, rx=1.5, class_=f"bar {tone}"
            )
        )
    if mark.low is not None and mark.high is not None and across(mark.high) > across(mark.low):
        drawn.append(
            tag(
                "path",
                d=f"M{across(mark.low)} {y}H{across(mark.high)}",
                class_="whisker" + ("" if row.bars else f" {tone}"),
            )
        )
    outside = mark.value < low or mark.value > high
    if row.line:
        drawn.append(tag("path", d=f"M{at} {y - 4}v8", class_=f"median {tone}"))
    elif outside and not row.bars:
        turn = 5 if mark.value < low else -5
        drawn.append(tag("path", d=f"M{at + turn} {y - 4}l{-turn} 4 {turn} 4", class_=f"curve {tone}"))
    elif not row.bars:
        drawn.append(tag("path", d=f"M{at} {y}h0", class_=f"dots big {tone}"))
    return drawn


def stacks(rows: Sequence[tuple[str, Sequence[float]]], title: str, *, x_label: str, about: str) -> Html:
    """Horizontal bars made of parts, each in its colour."""
    row, bottom = 22, TOP + 22 * len(rows)
    most = max((sum(parts) for _, parts in rows), default=1.0) or 1.0
    left, right = LEFT, WIDTH - RIGHT - 34
    body: list[Html] = [tag("text", title, x=0, y=14, class_="name")]
    for place, (name, parts) in enumerate(rows):
        y, start = TOP + row * place, float(left)
        body.append(label(name, left - 8, y + 14, "end"))
        for tone, part in enumerate(parts):
            width = round(part / most * (right - left), 1)
            if width > 0:
                body.append(
                    tag("rect", x=round(start, 1), y=y + 3, width=width, height=row - 7, class_=f"bar {tone_of(tone)}")
                )
            start += width
        body.append(label(number(sum(parts)), start + 5, y + 14))
    body.append(label(x_label, left, bottom + 16))
    return svg(body, about, (WIDTH, bottom + 22))


def legend_of(names: Sequence[str], *, bars: bool = False) -> Html:
    """Which colour is whose; dots or bars as in the chart."""
    items = []
    for tone, name in enumerate(names):
        drawn = (
            tag("rect", x=2, y=2, width=16, height=8, rx=1.5, class_=f"bar {tone_of(tone)}")
            if bars
            else tag("path", d="M10 6h0", class_=f"dots big {tone_of(tone)}")
        )
        items.append(tag("li", tag("svg", drawn, width=20, height=12, aria_hidden="true"), name))
    return tag("ul", items, class_="legend", aria_label="Colours")

"""Vector charts as SVG: narrow enough for a phone, coloured by the page's theme, described in words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unbraid.report.page.axes import Scale, label_ticks, number, without_dust
from unbraid.report.page.markup import Html, tag
from unbraid.report.page.svg import HEIGHT, WIDTH, label, svg, tone_of

__all__ = ["Bar", "Series", "bars", "bullet", "dot_rows", "legend", "line_chart", "scatter", "strips"]

_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 30, 40
_POINTS = 160
"""More points than pixels tell nothing; longer curves are thinned to this many."""


@dataclass(frozen=True)
class Series:
    """Numbers with a name and the position of their colour."""

    name: str
    x: np.ndarray
    y: np.ndarray
    tone: int = 0
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    """A band around the curve, for quartiles."""
    labels: tuple[str, ...] | None = None
    """What stands for each ``x`` when it is pointed at."""


@dataclass(frozen=True)
class Bar:
    """One row of a bar chart."""

    name: str
    value: float
    tone: int | None = 0
    """Position of the colour; ``None`` is grey."""
    tick: float | None = None
    """A line to hold the bar against, such as chance."""
    diamond: float | None = None
    """A second mark, such as the published number."""


def line_chart(
    series: Sequence[Series],
    title: str,
    *,
    x_label: str = "step",
    y_label: str = "",
    logarithmic: bool | None = None,
    log_x: bool = False,
    markers: bool = False,
    ends: tuple[str, str] | None = None,
    within: tuple[float, float] | None = None,
) -> Html:
    """Curves over a common axis; without ``logarithmic``, curves that fall by more than a factor of 4 decide for it.

    ``ends`` are words for the ends of the x axis in the place of numbers; ``within`` is what the y axis shows at least,
    so that charts side by side can be compared.
    """
    series = [thin for thin in map(_thinned, series) if len(thin.x)]
    values = [v for one in series for part in (one.y, one.low, one.high) if part is not None for v in part]
    positive = bool(values) and min(values) > 0
    if logarithmic is None:
        logarithmic = within is None and positive and any(one.y[0] > 4 * one.y[-1] for one in series)
    xs = [v for one in series for v in one.x]
    x = Scale.over(xs, _LEFT, WIDTH - _RIGHT, logarithmic=log_x and bool(xs) and min(xs) > 0, pad=0.02)
    values += within or ()
    y = Scale.over(values, HEIGHT - _BOTTOM, _TOP, logarithmic=logarithmic and positive, pad=0.06)
    body = _frame(x, y, title, x_label, y_label + (" (log scale)" if y.logarithmic else ""), ends=ends)
    points = []
    for one in series:
        at = [(x(a), y(b)) for a, b in zip(one.x, one.y, strict=True)]
        if one.low is not None and one.high is not None:
            upper = [f"{x(a)} {y(b)}" for a, b in zip(one.x, one.high, strict=True)]
            lower = [f"{x(a)} {y(b)}" for a, b in zip(one.x, one.low, strict=True)]
            body.append(tag("path", d=f"M{'L'.join(upper + lower[::-1])}Z", class_=f"band {tone_of(one.tone)}"))
        path = "M" + "L".join(f"{a} {b}" for a, b in at)
        body.append(tag("path", d=path, class_=f"curve {tone_of(one.tone)}"))
        if markers or len(at) == 1:
            dots = "".join(f"M{a} {b}h0" for a, b in at)
            body.append(tag("path", d=dots, class_=f"dots big {tone_of(one.tone)}"))
        points.append(
            {
                "n": one.name,
                "c": tone_of(one.tone),
                "p": at,
                "t": [[a, number(b, 4)] for a, b in zip(one.labels or map(number, one.x), one.y, strict=True)],
            }
        )
    about = "; ".join(f"{one.name} from {number(one.y[0])} to {number(one.y[-1])}" for one in series) or "no values"
    return svg(body, f"{title} against {x_label}: {about}", points=json.dumps(points), x=x_label)


def _thinned(one: Series) -> Series:
    """Finite points only, evenly thinned, the last one kept."""
    rows = np.isfinite(np.asarray(one.x, dtype=float)) & np.isfinite(np.asarray(one.y, dtype=float))
    keep = np.flatnonzero(rows)
    if len(keep) > _POINTS:
        keep = keep[np.unique(np.linspace(0, len(keep) - 1, _POINTS).round().astype(int))]
    low, high = (None if part is None else np.asarray(part, dtype=float)[keep] for part in (one.low, one.high))
    labels = None if one.labels is None else tuple(one.labels[i] for i in keep)
    x, y = np.asarray(one.x)[keep], np.asarray(one.y, dtype=float)[keep]
    return Series(one.name, x, y, one.tone, low, high, labels)


def scatter(
    series: Sequence[Series],
    title: str,
    *,
    x_label: str,
    y_label: str,
    logarithmic: bool = False,
    diagonal: bool = False,
    about: str = "",
    size: tuple[int, int] = (WIDTH, HEIGHT),
) -> Html:
    """Points in one colour per series; ``diagonal`` gives both axes the same scale and draws where they are equal."""
    width, height = size
    xs, ys = _joined([one.x for one in series]), _joined([one.y for one in series])
    both = np.concatenate([xs, ys]) if diagonal else None
    if logarithmic and len(xs):
        least, most = min(xs.min(), ys.min()), max(xs.max(), ys.max())
        logarithmic = bool(least > 0 and most > 10 * least)
    across = Scale.over(xs if both is None else both, _LEFT, width - _RIGHT, logarithmic=logarithmic, pad=0.04)
    up = Scale.over(ys if both is None else both, height - _BOTTOM, _TOP, logarithmic=logarithmic, pad=0.04)
    body = _frame(across, up, title, x_label, y_label, size, whole=bool((xs == np.round(xs)).all()))
    if diagonal:
        line = f"M{across(across.low)} {up(up.low)}L{across(across.high)} {up(up.high)}"
        body.append(tag("path", d=line, class_="guide"))
    for one in series:
        dots = "".join(f"M{across(a)} {up(b)}h0" for a, b in zip(one.x, one.y, strict=True))
        body.append(tag("path", d=dots, class_=f"dots {'few ' if len(xs) < 150 else ''}{tone_of(one.tone)}"))
    return svg(body, f"{title}: {y_label} against {x_label}. {about or f'{len(xs)} points'}", size)


def strips(groups: Sequence[Series], title: str, *, x_label: str) -> Html:
    """One row of points per group along a common axis (``x``), with the median as a line."""
    row, left = 26, 104
    height = _TOP + row * len(groups) + _BOTTOM - 8
    values = _joined([one.x for one in groups])
    across = Scale.over(values, left, WIDTH - _RIGHT, pad=0.04)
    body: list[Html] = [tag("text", title, x=0, y=14, class_="name")]
    bottom = _TOP + row * len(groups)
    for tick, word in label_ticks(across.ticks()):
        at = across(tick)
        body += [tag("path", d=f"M{at} {_TOP}V{bottom}", class_="grid"), label(word, at, bottom + 15, "middle")]
    body.append(label(x_label, (left + WIDTH - _RIGHT) / 2, height - 2, "middle"))
    for place, one in enumerate(groups):
        middle = _TOP + row * (place + 0.5)
        body.append(label(one.name, left - 8, middle + 4, "end"))
        spread = (np.arange(len(one.x)) * 0.618 % 1 - 0.5) * 0.5 * row
        dots = "".join(f"M{across(v)} {middle + s:.1f}h0" for v, s in zip(one.x, spread, strict=True))
        body.append(tag("path", d=dots, class_=f"dots {'few ' if len(values) < 150 else ''}{tone_of(one.tone)}"))
        if len(one.x):
            at = across(float(np.median(one.x)))
            body.append(tag("path", d=f"M{at} {middle - 10}v20", class_="median"))
    medians = "; ".join(f"{one.name} {number(float(np.median(one.x)))}" for one in groups if len(one.x))
    return svg(body, f"{title}, medians: {medians}", (WIDTH, height))


def bars(rows: Sequence[Bar], title: str, *, x_label: str, top: float | None = None, left: int = 84) -> Html:
    """Horizontal bars with their values; ``top`` is where the scale ends, ``left`` the room for names."""
    row, right = 20, 56
    height = _TOP + row * len(rows) + 22
    most = top or max([bar.value for bar in rows if np.isfinite(bar.value)], default=1.0) or 1.0
    across = Scale(0.0, most, left, WIDTH - right)
    body: list[Html] = [tag("text", title, x=0, y=14, class_="name")]
    for place, bar in enumerate(rows):
        y = _TOP + row * place
        body.append(label(bar.name, left - 8, y + 14, "end"))
        if not np.isfinite(bar.value):
            body.append(label("not known", left + 6, y + 14))
            continue
        width = max(across(max(bar.value, 0.0)) - left, 1)
        kind = "bar dead" if bar.tone is None else f"bar {tone_of(bar.tone)}"
        body.append(tag("rect", x=left, y=y + 3, width=round(width, 1), height=row - 6, rx=2, class_=kind))
        end = left + width
        if bar.tick is not None and np.isfinite(bar.tick):
            body.append(tag("path", d=f"M{across(bar.tick)} {y + 1}v{row - 2}", class_="tick"))
            end = max(end, across(bar.tick))
        if bar.diamond is not None and np.isfinite(bar.diamond):
            at = across(bar.diamond)
            body.append(tag("path", d=f"M{at - 5} {y + row / 2}l5 -5 5 5 -5 5z", class_="diamond"))
            end = max(end, at + 5)
        body.append(label(number(without_dust(bar.value)), end + 6, y + 14))
    body.append(label(x_label, left, _TOP + row * len(rows) + 16))
    known = [f", published {number(bar.diamond)}" if bar.diamond is not None else "" for bar in rows]
    told = "; ".join(
        f"{bar.name} {number(without_dust(bar.value))}{more}" for bar, more in zip(rows, known, strict=True)
    )
    return svg(body, f"{title}: {told}", (WIDTH, height))


def bullet(value: float, ceiling: float, low: float = 0.0, high: float = 1.0) -> Html:
    """A bar against the best that could be reached, which is drawn as a tick."""
    width, height = 150, 18
    across = Scale(low, high, 0.0, width)
    shown = across(min(max(value, low), high)) if np.isfinite(value) else 0.0
    zero = across(max(low, 0.0))
    body = [tag("rect", x=0, y=4, width=width, height=10, rx=2, class_="track")]
    if np.isfinite(ceiling):
        best = across(min(max(ceiling, low), high))
        body.append(tag("rect", x=zero, y=4, width=round(max(best - zero, 0), 1), height=10, rx=2, class_="room"))
    start, length = min(zero, shown), round(max(abs(shown - zero), 1), 1)
    body.append(tag("rect", x=start, y=4, width=length, height=10, rx=2, class_="bar t0"))
    if np.isfinite(ceiling):
        body.append(tag("path", d=f"M{min(max(best, 1), width - 1)} 0v{height}", class_="tick"))
    return tag("svg", body, viewBox=f"0 0 {width} {height}", width=width, height=height, aria_hidden="true")


def dot_rows(rows: Sequence[tuple[str, Sequence[float], float]], title: str, tones: Sequence[int]) -> Html:
    """A row per score with a dot per run between 0 and 1, and a tick at what could be reached."""
    row, left = 24, 150
    bottom = _TOP + row * len(rows)
    across = Scale(0.0, 1.0, left, WIDTH - _RIGHT)
    body: list[Html] = [tag("text", title, x=0, y=14, class_="name")]
    for tick in (0.0, 0.5, 1.0):
        body.append(tag("path", d=f"M{across(tick)} {_TOP}V{bottom}", class_="grid"))
        body.append(label(number(tick), across(tick), bottom + 15, "middle"))
    for place, (name, values, ceiling) in enumerate(rows):
        middle = _TOP + row * (place + 0.5)
        body.append(label(name, left - 10, middle + 4, "end"))
        if np.isfinite(ceiling):
            body.append(tag("path", d=f"M{across(min(max(ceiling, 0.0), 1.0))} {middle - 8}v16", class_="tick"))
        for value, tone in zip(values, tones, strict=True):
            if np.isfinite(value):
                at = across(min(max(value, 0.0), 1.0))
                body.append(tag("path", d=f"M{at} {middle}h0", class_=f"dots huge {tone_of(tone)}"))
    return svg(body, f"{title}: the numbers stand in the table beside it", (WIDTH, bottom + 22))


def legend(names: Sequence[str]) -> Html:
    """Which colour is whose."""
    swatch = [
        tag("svg", tag("path", d="M1 6H23", class_=f"curve {tone_of(i)}"), width=24, height=12, aria_hidden="true")
        for i in range(len(names))
    ]
    items = [tag("li", line, name) for line, name in zip(swatch, names, strict=True)]
    return tag("ul", items, class_="legend", aria_label="Colours")


def _frame(
    x: Scale,
    y: Scale,
    title: str,
    x_label: str,
    y_label: str,
    size: tuple[int, int] = (WIDTH, HEIGHT),
    ends: tuple[str, str] | None = None,
    whole: bool = False,
) -> list[Html]:
    width, height = size
    body = [tag("text", title, x=0, y=14, class_="name")]
    if y_label.strip():
        body.append(label(y_label.strip(), width - 2, 14, "end"))
    for tick, word in label_ticks(y.ticks()):
        at = y(tick)
        body.append(tag("path", d=f"M{_LEFT} {at}H{width - _RIGHT}", class_="grid"))
        body.append(label(word, _LEFT - 7, at + 4, "end"))
    below = height - _BOTTOM + 17
    if ends is not None:
        body += [label(ends[0], _LEFT, below), label(ends[1], width - _RIGHT, below, "end")]
    else:
        ticks = x.ticks(4 if width < WIDTH else 5, whole=whole)
        body += [label(word, x(tick), below, "middle") for tick, word in label_ticks(ticks)]
    body.append(label(x_label, (_LEFT + width - _RIGHT) / 2, height - 6, "middle"))
    return body


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0), *parts])

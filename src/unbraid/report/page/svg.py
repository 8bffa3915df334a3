"""What all vector charts share: the frame, words in it, and the classes of colours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files

from unbraid.report.page.markup import Html, tag
from unbraid.report.page.palette import LIGHT, SERIES

__all__ = ["HEIGHT", "WIDTH", "chart_css", "label", "standalone", "svg", "tone_of"]

WIDTH, HEIGHT = 340, 220
"""Narrow enough for a phone."""


def svg(
    body: Sequence[Html], about: str, size: tuple[int, int] = (WIDTH, HEIGHT), points: str | None = None, x: str = ""
) -> Html:
    """A chart as an image that is described by ``about``; with ``points`` (JSON) they can be read off it."""
    width, height = size
    return tag(
        "svg",
        body,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_label=about,
        class_="chart" + (" live" if points else ""),
        tabindex=0 if points else None,
        data_points=points,
        data_x=x or None,
    )


def label(words: str, x: float, y: float, anchor: str = "start") -> Html:
    """Words at a place of a chart."""
    return tag("text", words, x=round(x, 1), y=round(y, 1), text_anchor=None if anchor == "start" else anchor)


def tone_of(position: int) -> str:
    """The class of a series by its position."""
    return f"t{position % SERIES}" + (" dashed" if position >= SERIES else "")


def chart_css() -> str:
    """The part of the style sheet that charts need."""
    return files(__package__).joinpath("chart.css").read_text(encoding="utf-8")


def standalone(chart: Html, legend: Sequence[str] = ()) -> str:
    """A chart of a page as the text of an SVG file, on white, with its colours inside and named at the top.

    Colours are written out, since not every program that shows SVG files knows variables.
    """
    found = re.fullmatch(r'<svg viewBox="0 0 (\d+) (\d+)"[^>]*aria-label="([^"]*)"[^>]*>(.*)</svg>', chart, re.DOTALL)
    if found is None:
        raise ValueError("not one chart alone")
    width, height, about, body = int(found[1]), int(found[2]), found[3], found[4]
    style = re.sub(r"var\(--([\w-]+)\)", lambda name: LIGHT[name[1]], chart_css())
    edge, row = 10, 24 if legend else 0
    names, x = [], 0.0
    for place, name in enumerate(legend):
        names += [tag("path", d=f"M{x + 5} -12h0", class_=f"dots big {tone_of(place)}"), label(name, x + 12, -8)]
        x += 6.2 * len(name) + 24
    box = (-edge, -edge - row, max(width, round(x)) + 2 * edge, height + row + 2 * edge)
    drawn = tag("rect", x=box[0], y=box[1], width=box[2], height=box[3], fill=LIGHT["paper"])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{" ".join(map(str, box))}" width="{2 * box[2]}" '
        f'height="{2 * box[3]}" role="img" aria-label="{about}" class="chart" font-family="system-ui, sans-serif">'
        f"<style>{style}</style>{drawn}{''.join(names)}{body}</svg>\n"
    )

"""What all vector charts share: the frame, words in it, and the classes of colours."""

from __future__ import annotations

from collections.abc import Sequence

from unbraid.report.page.markup import Html, tag
from unbraid.report.page.palette import SERIES

__all__ = ["HEIGHT", "WIDTH", "label", "svg", "tone_of"]

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

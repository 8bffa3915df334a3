"""Tables: heat maps whose cells can be read and copied, and rows that sort by a click on their heading."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unbraid.report.page.axes import number, without_dust
from unbraid.report.page.markup import Html, tag, words
from unbraid.report.page.palette import shade

__all__ = ["data_table", "heat_table", "scroll"]


def heat_table(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    *,
    low: float = 0.0,
    high: float | None = None,
    digits: int = 2,
    faded: Sequence[bool] | None = None,
    marked: np.ndarray | None = None,
    upright: bool = False,
) -> Html:
    """A matrix with a shade per cell; ``low`` below zero makes it go both ways, ``faded`` rows hardly count.

    ``marked`` cells get a frame, which is said to those who cannot see it. Heads that stand ``upright`` keep columns
    narrow.
    """
    matrix = np.asarray(values, dtype=float)
    finite = matrix[np.isfinite(matrix)]
    top = high if high is not None else (float(finite.max()) if len(finite) else 1.0)
    head = tag("tr", tag("td"), [_head(name, upright) for name in columns])
    body = []
    for i, name in enumerate(rows):
        cells = [
            tag(
                "td",
                "" if np.isnan(value) else _fixed(value, digits),
                tag("span", " (framed)", class_="unseen") if marked is not None and marked[i, j] else None,
                class_=shade(value, low, top) + (" marked" if marked is not None and marked[i, j] else ""),
            )
            for j, value in enumerate(matrix[i])
        ]
        body.append(tag("tr", tag("th", name, scope="row"), cells, class_="dead" if faded and faded[i] else None))
    table = tag(
        "table",
        tag("caption", title),
        tag("thead", head),
        tag("tbody", body),
        class_=f"heat{' upright' if upright else ''}",
    )
    return scroll(table, title)


def data_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    title: str,
    *,
    sortable: bool = True,
    filterable: bool = False,
    sentences: bool = False,
    digits: int = 3,
) -> Html:
    """Rows of text and numbers; numbers stand right and sort by value. A cell may be ``(markup, key to sort by)``.

    Cells are one line each, unless they are ``sentences``; these stand below each other where the screen is narrow and
    rows cannot be sorted.
    """
    numeric = [all(_is_number(_key(row[j])) for row in rows) for j in range(len(columns))]
    head = [
        tag(
            "th",
            tag("button", words(name), type="button") if sortable else words(name),
            scope="col",
            aria_sort="none" if sortable else None,
            class_="num" if numeric[j] else None,
        )
        for j, name in enumerate(columns)
    ]
    labels = [name if sentences and not sortable else None for name in columns]
    body = [tag("tr", [_cell(*one, digits) for one in zip(row, numeric, labels, strict=True)]) for row in rows]
    table = tag(
        "table",
        tag("caption", title, class_="unseen"),
        tag("thead", tag("tr", head)),
        tag("tbody", body),
        class_=f"data{' sortable' if sortable else ''}{' sentences' if sentences else ''}",
    )
    if not filterable:
        return scroll(table, title)
    box = tag(
        "input",
        type="search",
        placeholder="Filter rows, such as: beta-vae sprites32",
        class_="filter",
        aria_label="Filter rows",
    )
    count = tag("p", f"{len(rows):,} rows", class_="count", aria_live="polite")
    return tag("div", box, count, scroll(table, title, long=True))


def _head(name: str, upright: bool) -> Html:
    return tag("th", tag("span", words(name)) if upright else words(name), scope="col")


def _fixed(value: float, digits: int) -> str:
    """A number with so many digits after the point; what rounds to zero has no sign."""
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def _key(value: object) -> object:
    return value[1] if isinstance(value, tuple) else value


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _cell(value: object, right: bool, label: str | None, digits: int) -> Html:
    shown, key = value if isinstance(value, tuple) else (value, value)
    if isinstance(shown, bool):
        text: object = "yes" if shown else "no"
    elif not isinstance(shown, int | float | None):
        text = shown
    elif isinstance(shown, int):
        text = f"{shown}"
    else:
        text = number(None if shown is None else without_dust(shown), digits)
    sort = f"{key!r}" if isinstance(key, int | float) and key == key else ("" if key is None or right else str(key))
    return tag("td", text, class_="num" if right else None, data_key=sort, data_label=label)


def scroll(table: Html, title: str, *, long: bool = False) -> Html:
    """A table in a frame of its own that scrolls where the screen is narrow, by keyboard too.

    A ``long`` one is no higher than the screen, and its headings stay in sight.
    """
    return tag("div", table, class_="scroll long" if long else "scroll", tabindex=0, role="region", aria_label=title)

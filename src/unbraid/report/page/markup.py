"""HTML from Python calls: everything that goes in is escaped, and freed of absolute paths, unless it was made here."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from unbraid.sharing import sharable

__all__ = ["Html", "Section", "command", "figure", "fragment", "note", "section", "slug", "tag", "terms", "words"]

_RAW = frozenset({"src", "href", "content", "d", "points"})
"""Attributes that hold no words: pictures, places in the page, the policy, lines."""
_VOID = frozenset({"br", "hr", "img", "input", "meta", "wbr"})

Attribute = str | int | float | bool | None


class Html(str):
    """Text that is markup already. Plain strings come from files and users, and are escaped when they go in."""


class Section(Html):
    """A part of the page, which knows its heading."""

    heading: str
    short: str
    """The heading in the page's menu."""


def tag(name: str, /, *children: object, **attributes: Attribute) -> Html:
    """One element; ``class_`` is class, other underscores are hyphens, ``None`` and ``False`` leave an attribute out.

    >>> tag("p", "a < b", tag("br"), class_="x", aria_label='"')
    '<p class="x" aria-label="&quot;">a &lt; b<br></p>'
    """
    parts = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        written = key.rstrip("_").replace("_", "-")
        shown = str(value) if written in _RAW else sharable(str(value))
        parts.append(written if value is True else f'{written}="{html.escape(shown)}"')
    opened = f"<{' '.join(parts)}>"
    return Html(opened if name in _VOID else f"{opened}{fragment(*children)}</{name}>")


def fragment(*children: object) -> Html:
    """Children in a row; ``None`` is nothing, lists are flattened."""
    return Html("".join(_render(child) for child in children))


def _render(child: object) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, Iterable) and not isinstance(child, str):
        return fragment(*child)
    return html.escape(sharable(str(child)))


def slug(text: str) -> str:
    """Text as an id.

    >>> slug("What the latents do")
    'what-the-latents-do'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def words(name: str) -> Html:
    """A name that may break at its underscores and slashes, so that narrow columns hold it."""
    pieces = re.split(r"(?<=[_/])", sharable(name))
    return Html("<wbr>".join(html.escape(piece) for piece in pieces))


def section(title: str, *children: object, short: str = "") -> Section:
    """A part of the page with a heading that the menu points to."""
    made = Section(tag("section", tag("h2", title), *children, id=slug(title)))
    made.heading, made.short = title, short or title
    return made


def figure(caption: object, *children: object, class_: str = "") -> Html:
    """Charts or pictures with the sentence that says what to look for."""
    return tag("figure", *children, tag("figcaption", caption), class_=class_ or None)


def note(*children: object, kind: str = "gap", try_: str = "") -> Html:
    """A remark in a box: ``gap`` for what is missing, ``info`` for what to know; ``try_`` is the command that helps."""
    return tag("div", tag("p", *children), command(try_) if try_ else None, class_=f"note {kind}", role="note")


def command(text: str) -> Html:
    """A command to copy."""
    button = tag("button", "Copy", type="button", class_="copy", aria_label="Copy the command")
    return tag("div", tag("pre", tag("code", text), tabindex=0, aria_label="Command"), button, class_="command")


def terms(pairs: Iterable[tuple[object, object]]) -> Html:
    """Names and values as a list of definitions."""
    rows = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs]
    return tag("dl", rows, class_="terms")

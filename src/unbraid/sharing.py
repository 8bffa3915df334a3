"""Texts meant for others: what users name becomes neither markup nor a formula, and no absolute path is in them."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars

__all__ = ["FORMULA", "code_span", "last_name", "markdown", "sharable", "spreadsheet"]

_END = r"\s'\"`<>|,;"
_QUOTED = re.compile(r"(?<=['\"])/[^'\"/]+/[^'\"]*(?=['\"])")
_ABSOLUTE = re.compile(rf"(?<![\w.~/:])/[^/{_END}]+/[^{_END}]*")
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""
_MARKED = re.compile(r"([\\`|\[\]])")


def sharable(text: str) -> str:
    """A text in which absolute paths are relative to the current folder, or only their last name if they are elsewhere.

    >>> sharable("unbraid report /home/somebody/work/runs/first")
    'unbraid report first'
    """
    if "/" not in text:
        return text
    for root in dict.fromkeys((str(Path.cwd()), *_home())):
        if root.count("/") > 1 or root == str(Path.cwd()) != "/":
            text = re.sub(rf"(?<![\w.~/]){re.escape(root)}(?:/|(?=[{_END}]|$))", "", text)
    text = _QUOTED.sub(_last, text)
    return _ABSOLUTE.sub(_last, text)


def _home() -> list[str]:
    try:
        return [str(Path.home())]
    except RuntimeError:  # no home folder is known here
        return []


def _last(found: re.Match[str]) -> str:
    path = found[0].rstrip("/.)")
    return path.rpartition("/")[2] + found[0][len(path) :].lstrip("/")


def last_name(name: str) -> str:
    """A name without the folders above it, if it is an absolute path: the same wherever it is read.

    >>> last_name("/home/somebody/own.npz"), last_name("sprites32")
    ('own.npz', 'sprites32')
    """
    return Path(name).name if name.startswith("/") else name


def markdown(text: object) -> str:
    """A text in which nothing is markup of Markdown tables, code, links or HTML.

    >>> print(markdown("a|b <c>"))
    a\\|b &lt;c&gt;
    """
    return _MARKED.sub(r"\\\1", html.escape(" ".join(str(text).split()), quote=False))


def code_span(text: object) -> str:
    """A name in Markdown's type for code, whatever is in it.

    >>> print(code_span("sprites32"), code_span("a|b"))
    `sprites32` <code>a&#124;b</code>
    """
    words = " ".join(str(text).split())
    if not set(words) & set("`|<>&"):
        return f"`{words}`"
    return f"<code>{html.escape(words).replace('|', '&#124;').replace('`', '&#96;')}</code>"


def spreadsheet(table: polars.DataFrame) -> polars.DataFrame:
    """A table that a spreadsheet reads as text and numbers: cells and headings like formulas get an apostrophe."""
    import polars as pl

    def plain(name: str) -> Any:
        cell = pl.col(name)
        return pl.when(cell.str.contains(r"^[=+\-@\t\r]")).then(pl.lit("'") + cell).otherwise(cell).alias(name)

    told = table.with_columns([plain(name) for name, kind in table.schema.items() if kind == pl.String])
    return told.rename({name: f"'{name}" for name in told.columns if name.startswith(FORMULA)})

"""What the command makes of the terminal, the machine and the words it is given."""

from __future__ import annotations

import contextlib
import io
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from unbraid.errors import UsageError, UsageWarning
from unbraid.files import FULL, no_room
from unbraid.paths import check_path

__all__ = ["check_text", "in_one_line", "plain_warnings", "tolerant_streams"]

NO_NUMBER = re.compile("[+-]?(nan|inf|infinity)", re.IGNORECASE)
PATHS = ("--out", "--data", "--start", "--plugin")
"""Options of which a value that looks like a number is none."""


def tolerant_streams() -> None:
    """Let a terminal without UTF-8 show a question mark for what it has no letter for, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="replace")


@contextlib.contextmanager
def plain_warnings() -> Iterator[None]:
    """Let what users should know of a result be one line, told once, without the place in the source it comes from."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UsageWarning)
        usual, told = warnings.showwarning, set[str]()

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if not issubclass(category, UsageWarning):
                usual(message, category, *place, **more)
            elif str(message) not in told:
                told.add(str(message))
                print(f"unbraid: note: {message}", file=sys.stderr)

        warnings.showwarning = cast("Any", show)
        yield


def check_text(words: Sequence[str]) -> None:
    """Refuse words that are no text, as nothing could read the records they would stand in, and numbers that are none.

    >>> check_text(["--minutes", "2", "--out", "nan"])
    """
    option = ""
    for word in words:
        if not word.isprintable():
            check_path(word, "argument")
        name, equals, value = word.partition("=") if word.startswith("--") else (option, "=", word)
        if equals and name and name not in PATHS and NO_NUMBER.fullmatch(value):
            raise UsageError(f"{name} must be a finite number, got {value}")
        option = "" if equals else word


def in_one_line(error: BaseException) -> str | None:
    """What failed since the machine has no room for it, for people; ``None`` for mistakes of this library."""
    if isinstance(error, OSError):
        if error.errno not in FULL:
            return str(error)
        folder = Path(error.filename).absolute().parent if isinstance(error.filename, str) else Path()
        return no_room(error, folder)
    text = str(error)
    if isinstance(error, MemoryError) or "allocate memory" in text or type(error).__name__ == "OutOfMemoryError":
        asked = re.search(r"allocate [\d.]+ \w*[bB]\w*", text)
        return f"not enough memory{f' to {asked[0]}' if asked else ''}; try a smaller --batch-size, network or data set"
    return None

"""What the command makes of the terminal and the words it is given, before anything else looks at them."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from unbraid.paths import check_path

__all__ = ["check_text", "tolerant_streams"]


def tolerant_streams() -> None:
    """Let a terminal without UTF-8 show a question mark for what it has no letter for, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="replace")


def check_text(words: Sequence[str]) -> None:
    """Refuse words that are no text: they would end up in records that nothing can read."""
    for word in words:
        if not word.isprintable():
            check_path(word, "argument")

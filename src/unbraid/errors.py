"""Errors meant for people: what came, what was expected, what to try next."""

import difflib
from collections.abc import Iterable

__all__ = ["UsageError", "UsageWarning", "unknown_name"]


class UsageError(ValueError):
    """Something the caller can mend. The command line prints it without a traceback."""


class UsageWarning(UserWarning):
    """Something the caller should know of a result. The command line prints it as one line."""


def unknown_name(kind: str, name: str, known: Iterable[str], hint: str = "") -> UsageError:
    """The error for a name that is not registered, with the nearest right one.

    >>> print(unknown_name("data set", "dsprite", ["dsprites", "rooms3d"]))
    unknown data set 'dsprite'; did you mean 'dsprites'? Known: dsprites, rooms3d
    """
    choices = sorted(known)
    near = difflib.get_close_matches(str(name), choices, n=1, cutoff=0.5)
    guess = f"; did you mean {near[0]!r}?" if near else "."
    return UsageError(f"unknown {kind} {name!r}{guess} Known: {', '.join(choices)}{'. ' + hint if hint else ''}")

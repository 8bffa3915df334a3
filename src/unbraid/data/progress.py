"""Progress of long work on standard error: a bar on a terminal, a few plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress"]


@contextmanager
def progress(label: str, total: int, *, unit: str = "images", every: float = 10.0) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how many of ``total`` were done since the last call.

    Without a terminal there is one line at most ``every`` so many seconds, so work that is over soon stays silent.
    """
    if sys.stderr.isatty():
        yield from _bar(label, total, unit)
    else:
        yield from _lines(label, total, unit, every)


def _bar(label: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TextColumn(unit), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda count: bar.advance(task, count)


def _lines(label: str, total: int, unit: str, every: float) -> Iterator[Callable[[int], None]]:
    start = last = time.monotonic()
    done = 0

    def advance(count: int) -> None:
        nonlocal done, last
        done += count
        now = time.monotonic()
        if now - last >= every:
            last = now
            left = (total - done) * (now - start) / done
            print(f"{label}: {done:,} of {total:,} {unit}, {left:.0f} s left", file=sys.stderr, flush=True)

    yield advance

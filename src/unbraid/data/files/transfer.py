"""How far a download is, on standard error: a bar with rate and time left on a terminal, a few lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Progress", "transfer"]

Progress = Callable[[int, int | None], None]
"""Told the bytes that are on disk so far and the total, where the server says it."""


@contextmanager
def transfer(label: str, *, quiet: bool = False, every: float = 10.0) -> Iterator[Progress]:
    """Yield the function to tell; without a terminal it prints at the end and at most ``every`` so many seconds."""
    if quiet:
        yield lambda *_: None
    elif sys.stderr.isatty():
        yield from _bar(label)
    else:
        yield from _lines(label, every)


def _bar(label: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (TextColumn(label), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _lines(label: str, every: float) -> Iterator[Progress]:
    start = last = time.monotonic()
    first: int | None = None

    def told(done: int, total: int | None) -> None:
        nonlocal first, last
        first = done if first is None else first
        now = time.monotonic()
        if now - last < every and done != total:
            return
        last = now
        rate = (done - first) / max(now - start, 1e-3)
        whole = f" of {total / 1e6:,.1f}" if total else ""
        left = f", {(total - done) / rate:,.0f} s left" if total and rate and done < total else ""
        print(f"{label}: {done / 1e6:,.1f}{whole} MB, {rate / 1e6:,.1f} MB/s{left}", file=sys.stderr, flush=True)

    yield told

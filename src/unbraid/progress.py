"""How far long work is: a bar on a terminal, a line now and then elsewhere, or nothing. All of it goes to stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from unbraid.errors import unknown_name

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

__all__ = ["Progress", "ProgressKind"]

ProgressKind = Literal["auto", "bar", "lines", "none"]
KINDS = ("auto", "bar", "lines", "none")
REDRAW = 0.2
"""Seconds between two looks of a bar; more often nobody sees it."""


class Progress:
    """Shows a title, how many of how many are done, numbers, rate and time left; ``auto`` is a bar on a terminal.

    ``start`` (and ``part``, see :meth:`update`) is what was done before: it counts for nothing in the rate. Without a
    terminal there is a line at most ``every`` so many seconds, with ``tenths`` only when a tenth of the work was done
    in between, and one at the end.
    What is ``brief`` leaves nothing behind: the bar goes away, and work that is over before the first line is silent.

    >>> with Progress("counting", 3, unit="sheep", kind="none") as progress:
    ...     progress.advance(2)
    ...     progress.text().split(",")[0]
    '2/3 sheep (67%)'
    """

    def __init__(
        self,
        title: str,
        total: int | None = None,
        *,
        unit: str = "",
        kind: ProgressKind = "auto",
        start: int = 0,
        part: float | None = None,
        every: float = 10.0,
        tenths: bool = False,
        brief: bool = False,
    ) -> None:
        if kind not in KINDS:
            raise unknown_name("kind of progress", kind, KINDS)
        if kind == "auto":
            kind = "bar" if sys.stderr.isatty() else "lines"
        self.title, self.total, self.unit, self.kind = title, total, unit, kind
        self.every, self.tenths, self.brief = every, tenths, brief
        self.start, self.done, self.began = start, start, monotonic()
        self.part = self.first_part = start / total if part is None and total else part
        self.numbers, self.note, self.running = dict[str, float](), "", tuple[str, ...]()
        self.shown, self.next_part = (self.began if brief else -float("inf")), 0.0
        self.printed: tuple[int, float | None, str] | None = None
        self.bar: RichProgress | None = _bar(title, brief) if kind == "bar" else None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def advance(self, count: int = 1) -> None:
        """So many more are done."""
        self.update(self.done + count)

    def update(
        self,
        done: int | None = None,
        *,
        total: int | None = None,
        part: float | None = None,
        numbers: Mapping[str, float] | None = None,
        note: str | None = None,
        running: Iterable[str] | None = None,
    ) -> None:
        """So many are done, and what else there is to show; what is not given stays as it was.

        ``part`` of the whole, from 0 to 1, is for work that is not measured by what is counted: a time budget.
        """
        self.done = self.done if done is None else done
        self.total = self.total if total is None else total
        self.part = part if part is not None or not self.total else min(self.done / self.total, 1.0)
        if self.first_part is None and self.part is not None:
            self.first_part, self.start = self.part, self.done
        self.numbers = self.numbers if numbers is None else dict(numbers)
        self.note = self.note if note is None else note
        self.running = self.running if running is None else tuple(running)
        if self.bar is not None:
            self._draw(self.bar)
        elif self.kind == "lines":
            self._print()

    def tell(self, line: str) -> None:
        """Say something that stays on the screen."""
        if self.bar is not None:
            self.bar.console.print(line, markup=False, highlight=False)
        elif self.kind == "lines":
            print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the last state on the screen, unless it is brief."""
        if self.bar is not None:
            self.shown = -float("inf")
            self._draw(self.bar)
            self.bar.stop()
            self.bar = None

    def text(self) -> str:
        """The state in words, as far as it is known."""
        percent = None if self.part is None else f"({self.part:.0%})"
        count = self._count()
        numbers = "  ".join(f"{name} {value:.4g}" for name, value in list(self.numbers.items())[:4])
        first = " ".join(word for word in (count, percent) if word)
        return ", ".join(word for word in (first, self.note, numbers, self._rate(), self._left()) if word)

    def _count(self) -> str:
        if not self.unit:
            return ""
        if self.unit == "bytes":
            return f"{self.done / 1e6:,.1f}{f'/{self.total / 1e6:,.1f}' if self.total else ''} MB"
        return f"{self.done:,}{f'/{self.total:,}' if self.total else ''} {self.unit}"

    def _rate(self) -> str:
        seconds, made = monotonic() - self.began, self.done - self.start
        if not self.unit or made <= 0 or seconds <= 0:
            return ""
        rate = made / seconds
        if self.unit == "bytes":
            return f"{rate / 1e6:,.1f} MB/s"
        return f"{rate:,.1f} {self.unit}/s" if rate >= 0.1 else f"{3600 * rate:,.1f} {self.unit}/h"

    def _left(self) -> str:
        """Time left if the rest takes as long as what was done since the start."""
        if self.part is None or self.first_part is None or not self.first_part < self.part < 1:
            return ""
        seconds = int((monotonic() - self.began) * (1 - self.part) / (self.part - self.first_part))
        hours, minutes = divmod(seconds // 60, 60)
        return f"{f'{hours}:{minutes:02d}' if hours else f'{minutes:02d}'}:{seconds % 60:02d} left"

    def _draw(self, bar: RichProgress) -> None:
        if monotonic() - self.shown < REDRAW and (self.part is None or self.part < 1):
            return
        self.shown = monotonic()
        total, completed = (None, 0.0) if self.part is None else (1.0, self.part)
        bar.update(bar.task_ids[0], total=total, completed=completed, text=self.text(), running=self.running)

    def _print(self) -> None:
        state, ended = (self.done, self.part, self.note), self.part is not None and self.part >= 1
        silent = ended and self.brief and self.printed is None
        early = monotonic() - self.shown < self.every or (self.tenths and (self.part or 0.0) < self.next_part)
        text = self.text()
        if not text or silent or state == self.printed or (early and not ended):
            return
        self.shown, self.printed, self.next_part = monotonic(), state, (int(10 * (self.part or 0.0)) + 1) / 10
        print(f"{self.title}: {text}", file=sys.stderr, flush=True)


def _bar(title: str, brief: bool) -> RichProgress:
    from rich.console import Console, RenderableType
    from rich.markup import escape
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as RichProgress
    from rich.table import Column
    from rich.text import Text

    class Bar(RichProgress):
        """A bar with what is running beneath it, a line each."""

        def get_renderables(self) -> Iterable[RenderableType]:
            yield self.make_tasks_table(self.tasks)
            for task in self.tasks:
                for words in task.fields["running"]:
                    yield Text(f"  {words}", style="dim", no_wrap=True, overflow="ellipsis")

    bar = Bar(
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[text]}", markup=False, table_column=Column(overflow="fold")),
        console=Console(stderr=True),
        transient=brief,
    )
    bar.add_task(escape(title), total=None, text="", running=())
    bar.start()
    return bar

"""Progress for people: a bar on a terminal, a line now and then elsewhere, or nothing."""

from __future__ import annotations

import sys
import time
from typing import Literal, Protocol

from unbraid.errors import unknown_name

__all__ = ["Progress", "ProgressKind", "make_progress"]

ProgressKind = Literal["auto", "bar", "lines", "none"]


class Progress(Protocol):
    """What the loop tells: where it is (in steps, and as a part of the whole) and its latest numbers."""

    def update(self, step: int, part: float, numbers: dict[str, float]) -> None: ...

    def close(self) -> None: ...


def make_progress(kind: ProgressKind, title: str, start: int, total: int | None) -> Progress:
    """``auto`` is a bar on a terminal and lines elsewhere. Everything goes to stderr."""
    if kind == "auto":
        kind = "bar" if sys.stderr.isatty() else "lines"
    if kind == "bar":
        return _Bar(title, start, total)
    if kind == "lines":
        return _Lines(title, start, total)
    if kind == "none":
        return _Silent()
    raise unknown_name("kind of progress", kind, ("auto", "bar", "lines", "none"))


class _Silent:
    def update(self, step: int, part: float, numbers: dict[str, float]) -> None:
        pass

    def close(self) -> None:
        pass


class _Clock:
    """Rate and remaining time of this process, not counting what an earlier one did."""

    def __init__(self, start: int) -> None:
        self.start, self.begin, self.first_part = start, time.monotonic(), -1.0

    def rate(self, step: int) -> float:
        return (step - self.start) / max(time.monotonic() - self.begin, 1e-9)

    def remaining(self, part: float) -> str:
        if self.first_part < 0:
            self.first_part = part
        done = part - self.first_part
        if done <= 0:
            return "--:--"
        seconds = int((time.monotonic() - self.begin) * (1 - part) / done)
        hours, minutes = divmod(seconds // 60, 60)
        return f"{hours}:{minutes:02d}:{seconds % 60:02d}" if hours else f"{minutes:02d}:{seconds % 60:02d}"


class _Lines:
    """One line at the start of every tenth of the work, at most every two seconds."""

    def __init__(self, title: str, start: int, total: int | None) -> None:
        self.title, self.total, self.clock = title, total, _Clock(start)
        self.next_part, self.last = 0.0, 0.0

    def update(self, step: int, part: float, numbers: dict[str, float]) -> None:
        remaining = self.clock.remaining(part)
        if part < self.next_part or (part < 1 and time.monotonic() - self.last < 2):
            return
        self.next_part, self.last = (int(part * 10) + 1) / 10, time.monotonic()
        of = f"/{self.total}" if self.total else ""
        print(
            f"{self.title}: step {step}{of} ({part:.0%}), {_numbers(numbers)}, "
            f"{self.clock.rate(step):.1f} steps/s, {remaining} left",
            file=sys.stderr,
            flush=True,
        )

    def close(self) -> None:
        pass


class _Bar:
    def __init__(self, title: str, start: int, total: int | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress

        self.clock, self.total, self.last = _Clock(start), total, 0.0
        self.bar = RichProgress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[text]}"),
            console=Console(stderr=True),
            transient=False,
        )
        self.task = self.bar.add_task(title, total=1.0, text="")
        self.bar.start()

    def update(self, step: int, part: float, numbers: dict[str, float]) -> None:
        remaining = self.clock.remaining(part)
        if part < 1 and time.monotonic() - self.last < 0.2:
            return
        self.last = time.monotonic()
        of = f"/{self.total}" if self.total else ""
        text = f"{step}{of}  {_numbers(numbers)}  {self.clock.rate(step):.1f}/s  {remaining} left"
        self.bar.update(self.task, completed=part, text=text)

    def close(self) -> None:
        self.bar.stop()


def _numbers(numbers: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in list(numbers.items())[:4])

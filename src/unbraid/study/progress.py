"""How far a study is, for people: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import Protocol

from unbraid.errors import unknown_name
from unbraid.training.progress import ProgressKind

__all__ = ["Counts", "StudyProgress", "make_study_progress"]


@dataclass
class Counts:
    """Where the runs of a study (or of the part asked for) stand."""

    total: int
    done: int = 0
    failed: int = 0
    running: list[str] = field(default_factory=list)
    """What is under way, in words."""
    stages: int = 0
    """Stages of runs that this process saw end."""
    stages_left: int = 0
    began: float = field(default_factory=time.monotonic)
    first_done: int = 0

    def rate(self) -> float:
        """Runs per hour since the start."""
        return 3600 * (self.done - self.first_done) / max(time.monotonic() - self.began, 1e-9)

    def left(self) -> str:
        """Time left, if what remains takes as long as what was done."""
        if not self.stages:
            return "--:--"
        elapsed = time.monotonic() - self.began
        seconds = int(elapsed / self.stages * self.stages_left)
        hours, minutes = divmod(seconds // 60, 60)
        return f"{hours}:{minutes:02d}:{seconds % 60:02d}" if hours else f"{minutes:02d}:{seconds % 60:02d}"

    def words(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        return (
            f"{self.done}/{self.total} runs done, {len(self.running)} running{failed}, "
            f"{self.rate():.1f} runs/h, {self.left()} left"
        )


class StudyProgress(Protocol):
    def update(self, counts: Counts) -> None: ...

    def tell(self, line: str) -> None:
        """Say something that should stay on the screen."""

    def close(self) -> None: ...


def make_study_progress(kind: ProgressKind, title: str) -> StudyProgress:
    """``auto`` is a bar on a terminal and lines elsewhere. Everything goes to stderr."""
    if kind == "auto":
        kind = "bar" if sys.stderr.isatty() else "lines"
    if kind == "bar":
        return _Bar(title)
    if kind == "lines":
        return _Lines(title)
    if kind == "none":
        return _Silent()
    raise unknown_name("kind of progress", kind, ("auto", "bar", "lines", "none"))


class _Silent:
    def update(self, counts: Counts) -> None:
        pass

    def tell(self, line: str) -> None:
        pass

    def close(self) -> None:
        pass


class _Lines:
    """A line when a run is done, at most one in ten seconds and one at the end."""

    def __init__(self, title: str) -> None:
        self.title, self.last, self.told = title, -1e9, -1

    def update(self, counts: Counts) -> None:
        over = counts.done + counts.failed
        if over == self.told or (over < counts.total and time.monotonic() - self.last < 10):
            return
        self.told, self.last = over, time.monotonic()
        self.tell(f"{self.title}: {counts.words()}")

    def tell(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        pass


class _Bar:
    def __init__(self, title: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self.bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[text]}"),
            console=Console(stderr=True),
        )
        self.task = self.bar.add_task(title, total=1.0, text="")
        self.bar.start()

    def update(self, counts: Counts) -> None:
        text = f"{counts.words()}\n{'; '.join(counts.running)}"
        self.bar.update(self.task, total=counts.total, completed=counts.done + counts.failed, text=text)

    def tell(self, line: str) -> None:
        self.bar.console.print(line, markup=False, highlight=False)

    def close(self) -> None:
        self.bar.stop()

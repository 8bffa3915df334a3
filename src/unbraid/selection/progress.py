"""How far a population is, for people: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import Protocol

from unbraid.errors import unknown_name
from unbraid.training.progress import ProgressKind

__all__ = ["PopulationProgress", "make_population_progress"]


class PopulationProgress(Protocol):
    def update(self, generation: int, done: int, members: int, score: float) -> None:
        """``done`` of the ``members`` of a generation have a score, the last one this."""

    def generation(self, done: int, best: float) -> None:
        """So many generations are done; the best score of the last one."""

    def tell(self, line: str) -> None:
        """Say something that should stay on the screen."""

    def close(self) -> None: ...


def make_population_progress(kind: ProgressKind, title: str, generations: int) -> PopulationProgress:
    """``auto`` is a bar on a terminal and lines elsewhere. Everything goes to stderr."""
    if kind == "auto":
        kind = "bar" if sys.stderr.isatty() else "lines"
    if kind == "bar":
        return _Bar(title, generations)
    if kind == "lines":
        return _Lines(title, generations)
    if kind == "none":
        return _Silent()
    raise unknown_name("kind of progress", kind, ("auto", "bar", "lines", "none"))


class _Silent:
    def update(self, generation: int, done: int, members: int, score: float) -> None:
        pass

    def generation(self, done: int, best: float) -> None:
        pass

    def tell(self, line: str) -> None:
        pass

    def close(self) -> None:
        pass


@dataclass
class _Clock:
    """Members per hour, and the time until all generations are done at that rate."""

    generations: int
    began: float = field(default_factory=time.monotonic)
    seen: int = 0

    def words(self, generation: int, done: int, members: int) -> str:
        self.seen += 1
        elapsed = max(time.monotonic() - self.began, 1e-9)
        left = (self.generations - generation - 1) * members + members - done
        seconds = int(elapsed / self.seen * left)
        hours, minutes = divmod(seconds // 60, 60)
        time_left = f"{hours}:{minutes:02d}:{seconds % 60:02d}" if hours else f"{minutes:02d}:{seconds % 60:02d}"
        return (
            f"generation {generation + 1}/{self.generations}, {done}/{members} members, "
            f"{3600 * self.seen / elapsed:.0f} members/h, at most {time_left} left"
        )


class _Lines(_Silent):
    """A line after each generation, and one in ten seconds at most between them."""

    def __init__(self, title: str, generations: int) -> None:
        self.title, self.clock, self.last = title, _Clock(generations), time.monotonic()

    def update(self, generation: int, done: int, members: int, score: float) -> None:
        words = self.clock.words(generation, done, members)
        if done == members or time.monotonic() - self.last >= 10:
            self.last = time.monotonic()
            self.tell(f"{self.title}: {words}")

    def generation(self, done: int, best: float) -> None:
        self.tell(f"{self.title}: best of generation {done}: {best:.4f}")

    def tell(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


class _Bar(_Silent):
    def __init__(self, title: str, generations: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self.clock, self.best = _Clock(generations), ""
        self.bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[text]}"),
            console=Console(stderr=True),
        )
        self.task = self.bar.add_task(title, total=1.0, text="")
        self.bar.start()

    def update(self, generation: int, done: int, members: int, score: float) -> None:
        text = self.clock.words(generation, done, members) + self.best
        part = (generation + done / members) / self.clock.generations
        self.bar.update(self.task, completed=part, text=text)

    def generation(self, done: int, best: float) -> None:
        self.best = f", best {best:.4f}"

    def tell(self, line: str) -> None:
        self.bar.console.print(line, markup=False, highlight=False)

    def close(self) -> None:
        self.bar.stop()

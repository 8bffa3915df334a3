"""What a classifier makes of corrupted images, as a table: shares of right answers with what they are uncertain by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unbraid.errors import UsageError, unknown_name
from unbraid.evaluation import wilson
from unbraid.robustness.relative import corruption_errors, mce

if TYPE_CHECKING:
    import polars

__all__ = ["CLEAN", "CorruptionTable", "Spoiled", "Wrong"]

CLEAN = "clean"
"""What stands in the place of a corruption where there is none; its severity is 0."""


class Spoiled(NamedTuple):
    """A corruption in one severity."""

    corruption: str
    category: str
    severity: int


class Wrong(NamedTuple):
    """An image that a model took for something else."""

    corruption: str
    severity: int
    image: int
    """Its position in the data set."""
    truth: int
    guess: int
    confidence: float
    """What the model gave for the wrong class, between 0 and 1."""


@dataclass(frozen=True)
class CorruptionTable:
    """Which images a model names right, clean and under every corruption and severity.

    ``print(table)`` shows it by corruption, ``table.table()`` has every severity, ``table.mean()`` is the headline.
    """

    model: str
    data: str
    suite: str
    spoiled: tuple[Spoiled, ...]
    """The rows of ``right`` behind the first, which is of the clean images."""
    right: np.ndarray
    """Whether the class of the highest score is the true one: bool ``[1 + rows, images]``."""
    among_five: np.ndarray | None = None
    """Whether the true class is among the five highest; ``None`` for fewer than ten classes."""
    worst: tuple[Wrong, ...] = ()
    """Wrong answers of the highest confidence, the most confident first."""
    trained_on: frozenset[str] = frozenset()
    """Corruptions that training showed: what is measured under them is no generalisation."""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def images(self) -> int:
        return int(self.right.shape[1])

    @property
    def clean(self) -> float:
        """Accuracy on the images as they are."""
        return float(self.right[0].mean())

    @cached_property
    def corruptions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.corruption for row in self.spoiled))

    @cached_property
    def categories(self) -> dict[str, str]:
        """Of each corruption."""
        return {row.corruption: row.category for row in self.spoiled}

    def accuracy(self, corruption: str, severity: int | None = None) -> float:
        """Under one corruption, over its severities or in one of them."""
        return float(self.right[self._rows([corruption], severity)].mean())

    def mean(self, exclude: str | Iterable[str] | None = None) -> float:
        """Accuracy over all corruptions, each the mean of its severities; ``exclude="noise"`` leaves categories out.

        Or corruptions by name. On MNIST-C, ``noise`` is shot and impulse noise.
        """
        return float(self._per_image(self.right, exclude).mean())

    def mean_error(self, exclude: str | Iterable[str] | None = None) -> float:
        """Standard error of :meth:`mean` over images. Answers about the same image are not taken for independent."""
        per_image = self._per_image(self.right, exclude)
        return float(per_image.std(ddof=1) / np.sqrt(len(per_image))) if len(per_image) > 1 else float("nan")

    @property
    def top5(self) -> float | None:
        """Mean over corruptions of how often the true class is among five; ``None`` for fewer than ten classes."""
        return self.mean_top5()

    def mean_top5(self, exclude: str | Iterable[str] | None = None) -> float | None:
        """As :meth:`mean`, for the five highest scores."""
        return None if self.among_five is None else float(self._per_image(self.among_five, exclude).mean())

    def errors(self) -> dict[str, float]:
        """``1 - accuracy`` of each corruption, over its severities."""
        return {name: 1 - self.accuracy(name) for name in self.corruptions}

    def mce(self, reference: CorruptionTable | Mapping[str, float]) -> float:
        """Mean error relative to another model's, x 100 (:func:`unbraid.robustness.mce`).

        ``reference`` is that model's table of the same data, corruptions and severities, or its errors by corruption.
        """
        return mce(self.errors(), self._errors_of(reference))

    def relative_errors(self, reference: CorruptionTable | Mapping[str, float]) -> dict[str, float]:
        """What :meth:`mce` is the mean of."""
        return corruption_errors(self.errors(), self._errors_of(reference))

    def marked(self, exclude: str | Iterable[str] | None = None) -> bool:
        """Whether a corruption that counts in the mean was shown in training; papers put such numbers in brackets."""
        return bool(self.trained_on & set(self._kept(exclude)))

    def table(self) -> polars.DataFrame:
        """One row per corruption and severity, the clean images first, with standard error and 95 % interval."""
        import polars

        rows = []
        for place, row in enumerate((Spoiled(CLEAN, CLEAN, 0), *self.spoiled)):
            share, n = float(self.right[place].mean()), self.images
            low, high = wilson(int(self.right[place].sum()), n)
            rows.append(
                {
                    **row._asdict(),
                    "accuracy": share,
                    "standard_error": float(np.sqrt(share * (1 - share) / n)),
                    "low": low,
                    "high": high,
                    **({} if self.among_five is None else {"top5": float(self.among_five[place].mean())}),
                    "images": n,
                    "trained_on": row.corruption in self.trained_on,
                }
            )
        return polars.DataFrame(rows)

    def by_corruption(self) -> polars.DataFrame:
        """One row per corruption, over its severities; the standard error is over images."""
        import polars

        rows = []
        for name in (CLEAN, *self.corruptions):
            found = self.right[[0] if name == CLEAN else self._rows([name])].mean(axis=0)
            rows.append(
                {
                    "corruption": name,
                    "category": self.categories.get(name, CLEAN),
                    "accuracy": float(found.mean()),
                    "standard_error": float(found.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else None,
                    "trained_on": name in self.trained_on,
                }
            )
        return polars.DataFrame(rows)

    def __str__(self) -> str:
        lines = [f"{self.model} on {self.data}, {self.images:,} images"]
        marks = {True: " (trained on)", False: ""}
        for name, _, share, error, trained in self.by_corruption().iter_rows():
            around = "" if error is None else f" ± {100 * error:.1f}"
            lines.append(f"  {name:20s}{100 * share:6.1f}{around} %{marks[trained]}")
        lines.append(f"  {'mean':20s}{100 * self.mean():6.1f} ± {100 * self.mean_error():.1f} %{marks[self.marked()]}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>{escape(name)}{' *' if trained else ''}</td><td>{escape(category)}</td>"
            f"<td>{100 * share:.1f}{'' if error is None else f' ± {100 * error:.1f}'}</td></tr>"
            for name, category, share, error, trained in self.by_corruption().iter_rows()
        )
        mean = f"<tr><th>mean</th><th></th><th>{100 * self.mean():.1f} ± {100 * self.mean_error():.1f}</th></tr>"
        note = "<p>* was shown in training</p>" if self.marked() else ""
        caption = f"<caption>{escape(self.model)} on {escape(self.data)}, % of {self.images:,} images</caption>"
        return f"<table>{caption}{cells}{mean}</table>{note}"

    def _errors_of(self, reference: CorruptionTable | Mapping[str, float]) -> Mapping[str, float]:
        if not isinstance(reference, CorruptionTable):
            return reference
        if reference.spoiled != self.spoiled or reference.data != self.data or reference.images != self.images:
            raise UsageError(
                f"the reference {reference.model} was asked about {reference.images:,} images of {reference.data} in "
                f"{len(reference.spoiled)} states, {self.model} about {self.images:,} of {self.data} in "
                f"{len(self.spoiled)}, or in others; ask both alike: corruption_tables({{name: predict, ...}}, data)"
            )
        return reference.errors()

    def _per_image(self, right: np.ndarray, exclude: str | Iterable[str] | None) -> np.ndarray:
        """Of each image, the mean over corruptions of the mean over severities."""
        kept = self._kept(exclude)
        return np.mean([right[self._rows([name])].mean(axis=0) for name in kept], axis=0)

    def _kept(self, exclude: str | Iterable[str] | None) -> list[str]:
        words = () if exclude is None else (exclude,) if isinstance(exclude, str) else tuple(exclude)
        known = {*self.corruptions, *self.categories.values()}
        for word in words:
            if word not in known:
                raise unknown_name("corruption or category", word, known)
        kept = [name for name in self.corruptions if not {name, self.categories[name]} & set(words)]
        if not kept:
            raise UsageError(f"exclude={exclude!r} leaves no corruption of {', '.join(self.corruptions)}")
        return kept

    def _rows(self, names: Sequence[str], severity: int | None = None) -> list[int]:
        for name in names:
            if name not in self.corruptions:
                raise unknown_name("corruption of this table", name, self.corruptions)
        rows = [
            place
            for place, row in enumerate(self.spoiled, 1)
            if row.corruption in names and severity in (None, row.severity)
        ]
        if not rows:
            raise UsageError(f"severity {severity} of {', '.join(names)} was not asked for")
        return rows

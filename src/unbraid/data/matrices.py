"""Abstract reasoning about factors: 3x3 matrices whose last panel is to be chosen (van Steenkiste et al., 2019).

In every row of a matrix the active factors are constant. Eight panels are shown; of six answers one continues the last
row. Everything here is about factor values; :mod:`unbraid.data.matrix_stream` makes pictures of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Literal, get_args

import numpy as np

from unbraid.errors import UsageError, unknown_name

__all__ = [
    "ANSWERS",
    "CONTEXT",
    "Matrices",
    "Mode",
    "Rules",
    "accepted_share",
    "looks_ruled",
    "quantised_sizes",
    "solve",
    "votes",
]

CONTEXT, ANSWERS = 8, 6
Mode = Literal["easy", "hard", "fair"]
_PUBLISHED: dict[tuple[int, ...], tuple[int, ...]] = {
    (5, 6, 3, 6, 32, 32): (5, 6, 3, 3, 4, 4),  # abstract dSprites
    (10, 10, 10, 8, 4, 15): (10, 10, 10, 4, 4, 4),  # Shapes3D
}


@dataclass(frozen=True)
class Matrices:
    """Some matrices: what is shown, what may be chosen, and which answer is right."""

    context: np.ndarray
    """Factor values of the panels shown, row by row: int ``[n, 8, K]``."""
    answers: np.ndarray
    """Factor values of the answers: int ``[n, 6, K]``."""
    solution: np.ndarray
    """Position of the right one: int ``[n]``."""
    active: np.ndarray
    """Which factors are constant in rows, bool ``[n, K]``."""

    @property
    def panels(self) -> np.ndarray:
        """All of them, the answers last: int ``[n, 14, K]``."""
        return np.concatenate([self.context, self.answers], axis=1)


@dataclass(frozen=True)
class Rules:
    """How matrices are drawn.

    Values of active factors are drawn once per row, all others for every panel, until the first two rows of such a
    factor are neither both constant nor both without repetition, so that these rows tell which factors are active.
    Wrong answers differ from the right one in an active factor; no answer comes twice.

    ``easy``: wrong answers are any panels that do not fit. ``hard``: the right one with one active factor changed and
    all others drawn anew. In both the answers alone give it away (:func:`votes`). ``fair``: six answers that differ
    from each other in their active factors are drawn first, and then one is made the right one, so that whoever sees
    only the answers is right once in six.
    """

    sizes: tuple[int, ...]
    """How many values each factor takes."""
    mode: Mode = "fair"
    active: int = 0
    """How many factors are active: 1, 2 or 3; 0 draws that, too."""

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise unknown_name("mode", self.mode, get_args(Mode))
        if self.active not in (0, 1, 2, 3):
            raise UsageError(f"active must be 1, 2 or 3 factors, or 0 for any of these, got {self.active!r}")
        if not self.sets:
            most = f"with 3 values or more, and in mode {self.mode!r} enough different answers"
            raise UsageError(f"no {self.active or 1} of factors with {list(self.sizes)} values can be active: {most}")

    @property
    def sets(self) -> dict[int, list[tuple[int, ...]]]:
        """The sets of factors that can be active, by their size."""
        able = [factor for factor, size in enumerate(self.sizes) if size >= 3]
        wanted = (self.active,) if self.active else (1, 2, 3)
        found = {count: [one for one in combinations(able, count) if self._enough(one)] for count in wanted}
        return {count: sets for count, sets in found.items() if sets}

    def _enough(self, active: tuple[int, ...]) -> bool:
        """Whether there are six answers."""
        seen = prod(self.sizes[factor] for factor in active)
        hidden = prod(self.sizes) // seen
        if self.mode == "fair":
            return seen >= ANSWERS
        wrong = seen - 1 if self.mode == "easy" else sum(self.sizes[factor] - 1 for factor in active)
        return wrong * hidden >= ANSWERS - 1

    def draw(self, n: int, rng: np.random.Generator) -> Matrices:
        """Draw ``n`` matrices."""
        active = self._active(n, rng)
        panels = self._cells((n, 3, 3), rng)
        panels = np.where(active[:, None, None], panels[:, :, :1], panels)
        self._mend_rows(panels, active, rng)
        position = rng.integers(ANSWERS, size=n)
        if self.mode == "fair":
            answers = self._apart(active, rng)
            right = answers[np.arange(n), position]
            panels[:, 2] = np.where(active[:, None], right[:, None], panels[:, 2])
        else:
            right = panels[:, 2, 2]
            answers = self._wrong(right, active, rng)
            answers[np.arange(n), 0], answers[np.arange(n), position] = answers[np.arange(n), position], right
        return Matrices(panels.reshape(n, 9, -1)[:, :CONTEXT], answers, position, active)

    def _cells(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return rng.integers(self.sizes, size=(*shape, len(self.sizes)))

    def _active(self, n: int, rng: np.random.Generator) -> np.ndarray:
        sets = self.sets
        counts = rng.choice(list(sets), size=n)
        found = np.zeros((n, len(self.sizes)), dtype=bool)
        for count, choices in sets.items():
            rows = np.flatnonzero(counts == count)
            chosen = np.array(choices)[rng.integers(len(choices), size=len(rows))]
            found[rows[:, None], chosen] = True
        return found

    def _mend_rows(self, panels: np.ndarray, active: np.ndarray, rng: np.random.Generator) -> None:
        """Draw the first two rows of inactive factors anew until they neither look active nor all different."""
        moving = ~active & (np.array(self.sizes) > 1)
        while True:
            matrix, factor = np.nonzero(moving & looks_ruled(panels[:, :2]))
            if not len(matrix):
                return
            drawn = rng.integers(np.array(self.sizes)[factor], size=(2, 3, len(factor)))
            panels[matrix[:, None, None], np.arange(2)[:, None], np.arange(3), factor[:, None, None]] = np.moveaxis(
                drawn, 2, 0
            )

    def _apart(self, active: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Six answers each, no two alike in all active factors; those that repeat an earlier one are drawn anew.

        Renumbering the combinations of active values changes nothing in how this is done, so that every row of six
        different ones is as likely as any other: no place among the answers is special.
        """
        answers = self._cells((len(active), ANSWERS), rng)
        while (places := np.nonzero(_repeats(np.where(active[:, None], answers, 0))))[0].size:
            answers[places] = self._cells((len(places[0]),), rng)
        return answers

    def _wrong(self, right: np.ndarray, active: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The right answer first, then five wrong ones."""
        answers = np.repeat(right[:, None], ANSWERS, axis=1)
        bad = np.ones(answers.shape[:2], dtype=bool)
        bad[:, 0] = False
        while len((places := np.nonzero(bad))[0]):
            matrix = places[0]
            drawn = self._cells((len(matrix),), rng)
            if self.mode == "hard":
                kept = active[matrix]
                changed = (rng.random(kept.shape) * kept).argmax(axis=1)  # one of the active ones
                rows = np.arange(len(matrix))
                sizes = np.array(self.sizes)[changed]
                other = (right[matrix, changed] + rng.integers(1, sizes)) % sizes  # any value but the right one
                drawn = np.where(kept, right[matrix], drawn)
                drawn[rows, changed] = other
            answers[places] = drawn
            fits = ((answers == right[:, None]) | ~active[:, None]).all(axis=2)
            bad = _repeats(answers) | fits
            bad[:, 0] = False
        return answers


def looks_ruled(rows: np.ndarray) -> np.ndarray:
    """Of two rows ``[n, 2, 3, K]``, for which factors both are constant, or both without repetition: ``[n, K]``."""
    a, b, c = rows[:, :, 0], rows[:, :, 1], rows[:, :, 2]
    constant = (a == b) & (b == c)
    distinct = (a != b) & (b != c) & (a != c)
    return constant.all(axis=1) | distinct.all(axis=1)


def _repeats(answers: np.ndarray) -> np.ndarray:
    """Which answers came before in their matrix: bool ``[n, 6]``."""
    same = (answers[:, :, None] == answers[:, None]).all(axis=3)  # [n, 6, 6]
    return np.tril(same, -1).any(axis=2)


def accepted_share(size: int) -> float:
    """How often the first draw of a factor's first two rows is taken.

    >>> [round(accepted_share(size), 3) for size in (3, 4, 5, 6, 10)]
    [0.938, 0.855, 0.768, 0.691, 0.482]
    """
    constant, distinct = 1 / size**2, (size - 1) * (size - 2) / size**2
    return 1 - constant**2 - distinct**2


def quantised_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    """How many values of each factor are used: the published ones for the two published sets, else at most five."""
    return _PUBLISHED.get(tuple(sizes), tuple(min(size, 5) for size in sizes))


def solve(context: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Which answers fit: equal to the last row in every factor that is constant in both rows before, ``[n, 6]``."""
    rows = context[:, :6].reshape(len(context), 2, 3, -1)
    constant = (rows == rows[:, :, :1]).all(axis=(1, 2))  # [n, K]
    return ((answers == context[:, 6:7]) | ~constant[:, None]).all(axis=2)


def votes(answers: np.ndarray, solution: np.ndarray) -> dict[str, float]:
    """How often the answer is right that has most, or least, in common with the others: what needs no matrix at all.

    Among equals one is drawn, which counts by its chance. Chance is 1/6.
    """
    common = (answers[:, :, None] == answers[:, None]).sum(axis=(2, 3))  # [n, 6]
    found = {}
    for name, best in (("most", common.max(axis=1)), ("least", common.min(axis=1))):
        chosen = common == best[:, None]
        right = chosen[np.arange(len(solution)), solution] / chosen.sum(axis=1)
        found[name] = float(right.mean())
    return found

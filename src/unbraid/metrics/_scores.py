"""Many scores at once: a dictionary that also says which could not be had, and shows itself as a table."""

import math
from collections.abc import Mapping
from html import escape

from unbraid.metrics._score import Score

__all__ = ["ABOVE", "Scores", "above_ceiling"]

ABOVE = (
    "above its ceiling: a perfect code gets less there, because the estimator favours other codes (few samples, bins)"
)
"""What a value beyond the printed ceiling means, for wherever one is printed."""


def above_ceiling(score: Score, digits: int = 2) -> bool:
    """Whether a score exceeds what a perfect code gets, as far as so many printed digits show it.

    >>> above_ceiling(Score("sap", 0.43, 0.27)), above_ceiling(Score("mig", 0.9001, 0.9))
    (True, False)
    """
    return math.isfinite(score.ceiling) and round(score.value, digits) > round(score.ceiling, digits)


class Scores(dict[str, Score]):
    """Scores by name; ``not_possible`` tells of those that were asked for and could not be had, and why."""

    def __init__(self, found: Mapping[str, Score] | None = None, not_possible: Mapping[str, str] | None = None) -> None:
        super().__init__(found or {})
        self.not_possible: dict[str, str] = dict(not_possible or {})

    def __missing__(self, name: str) -> Score:
        why = f"{name} is not possible: {self.not_possible[name]}" if name in self.not_possible else name
        raise KeyError(why)

    def _repr_html_(self) -> str:
        rows = [_row(name, score) for name, score in self.items()]
        rows += [
            f"<tr><td>{escape(name)}</td><td colspan=2>not possible: {escape(why)}</td></tr>"
            for name, why in self.not_possible.items()
        ]
        note = f"<p>* {ABOVE}</p>" if any(above_ceiling(score) for score in self.values()) else ""
        head = "<tr><th>score</th><th>value</th><th>ceiling</th></tr>"
        return f"<table>{head}{''.join(rows)}</table>{note}"


def _row(name: str, score: Score) -> str:
    ceiling = "-" if math.isnan(score.ceiling) else f"{score.ceiling:.2f}"
    mark = "*" if above_ceiling(score) else ""
    return f"<tr><td>{escape(name)}</td><td>{score.value:.2f}{mark}</td><td>{ceiling}</td></tr>"

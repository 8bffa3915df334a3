"""Which factor of a run breaks under which corruption, as a heat map."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unbraid.evaluation import FactorsUnderCorruption, kept_table
from unbraid.report.page.axes import number
from unbraid.report.page.captions import RUN
from unbraid.report.page.markup import Section, figure, section
from unbraid.report.page.measures import StoredAnswer
from unbraid.report.page.tables import heat_table

__all__ = ["corrupted_section"]


def corrupted_section(answers: Sequence[StoredAnswer]) -> Section | None:
    """A row per corruption and severity, a column per factor; nothing where it was not measured."""
    asked = [answer for answer in answers if answer.measure == FactorsUnderCorruption.name]
    figures = []
    for answer in asked:
        found = kept_table(answer.rows)
        if found is None:
            continue
        title = "Kept of what clean images tell" + (f" of {answer.data}" if answer.data else "")
        table = heat_table(
            np.minimum(found.kept, 1), found.rows, found.factors, title, high=1.0, marked=found.breaks_first
        )
        clean = ", ".join(f"{name} {number(value, 2)}" for name, value in zip(found.factors, found.clean, strict=True))
        said = f"From clean images ({found.unit}): {clean}."
        figures.append(figure(f"{RUN['corrupted']} {said} Read from {answer.source}.", table))
    return section("Factors under corruption", *figures) if figures else None

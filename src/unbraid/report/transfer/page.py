"""The page of a matrix: what every bias buys, what two of them do together, and whether scenarios agree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unbraid.errors import UsageError
from unbraid.files import make_folders, save_table, write_json, write_text
from unbraid.report.page.markup import Html, Section, command, figure, note, section, tag
from unbraid.report.page.shell import page
from unbraid.report.page.tables import data_table, heat_table
from unbraid.report.transfer.heat import heat_map, key
from unbraid.report.transfer.markdown import matrix_markdown
from unbraid.report.transfer.model_cards import cards
from unbraid.report.transfer.picture import draw_matrix
from unbraid.report.transfer.shown import with_titles
from unbraid.transfer import (
    Matrix,
    MatrixFolder,
    Outcome,
    carry_cells,
    cell_table,
    get_scenario,
    judge_published,
    matrix,
    own_scenarios,
    tell_published,
    tell_verdicts,
)

if TYPE_CHECKING:
    import polars

__all__ = ["matrix_page", "write_matrices"]

HEAT = (
    "Every cell is the mean difference to the vanilla twin over seeds: in points of accuracy, R² or shares; of "
    "distances (smallest change, invariance) in percent of the twin's. Better or worse is what lies beyond two "
    "standard errors and beyond what is of interest (a point; 5 % of a distance). The row of vanilla has its own "
    "numbers, in percent or as distances. Point at a cell or tap it for its numbers, press it for the card; a verdict"
    " says its reasons. By keyboard, arrows lead from cell to cell."
)
TOGETHER = (
    "Orthogonal: each keeps what it buys alone. Symbiotic: together more than the sum of both somewhere. Exclusive: "
    "one of them loses what it buys alone."
)
BESIDE = "What Schott (2021, chapter 3) concludes from published results, and the rule by which each counts as seen."
OVER_ALL = "Spearman's rank correlation of scenarios over all models: do they agree on which model is the better one?"
OVER_SEEDS = (
    "The same over seeds of one bias, averaged over biases: near 0, one training says nothing about another scenario "
    "than the one that was measured."
)


def matrix_page(
    matrices: Sequence[Matrix],
    name: str = "transfer",
    made_by: str = "unbraid transfer report",
    cells: polars.DataFrame | None = None,
) -> str:
    """The page as HTML; every domain has its parts. The table of all ``cells`` tells about single corruptions."""
    if not any(one.biases for one in matrices):
        raise UsageError("no bias has been measured yet: nothing to show")
    parts: list[Section] = []
    for one in matrices:
        if not one.effects:
            continue
        tail = f" on {one.domain}" if len(matrices) > 1 else ""
        parts.append(section(f"What each bias buys{tail}", figure(HEAT, key(), heat_map(one)), short=f"Matrix{tail}"))
        parts.append(section(f"Verdicts{tail}", verdict_table(one)))
        if one.combinations:
            told = [
                [" + ".join(pair), _unbroken(found.word), with_titles(found.sentence)]
                for pair, found in one.combinations.items()
            ]
            columns = ["both", "verdict", "why"]
            table = data_table(columns, told, "Combinations", sortable=False, sentences=True)
            parts.append(section(f"Two at once{tail}", figure(TOGETHER, table), short=f"Combinations{tail}"))
        outcomes = judge_published(one, cells)
        judged = [_judged(outcome) for outcome in outcomes]
        columns = ["published", "verdict", "measured here", "counts as seen if"]
        beside = data_table(columns, judged, "Published outcomes", sortable=False, sentences=True)
        parts.append(
            section(
                f"Beside what was published{tail}",
                figure(f"{BESIDE} {tell_published(outcomes)}", beside),
                short=f"Published{tail}",
            )
        )
        parts += _agreement(one, tail)
        parts.append(section(f"Cards{tail}", cards(one, cells), short=f"Cards{tail}"))
    seeds = {seed for one in matrices for _, seed in one.models()[0]}
    numbers = [
        ("domains", str(len(matrices)), ", ".join(one.domain for one in matrices)),
        ("biases", str(len({bias for one in matrices for bias in one.biases})), "against their vanilla twins"),
        (
            "scenarios",
            str(len({name for one in matrices for name in one.scenarios})),
            "ways of leaving the training domain",
        ),
        ("seeds", str(len(seeds)), ", ".join(map(str, sorted(seeds)))),
    ]
    tiles = [tag("li", tag("span", what), tag("b", value), tag("small", extra)) for what, value, extra in numbers]
    lead = [tag("ul", tiles, class_="tiles")]
    if len(seeds) < 3:
        lead.append(note("With fewer than three seeds nothing is decided: every verdict is open.", kind="info"))
    again = section("Reproduce it", tag("p", "Make this page again:"), command(made_by))
    title = "What biases buy outside the training domain"
    return page(title, f"every bias against every way of leaving it: {name}", lead, [*parts, again], made_by)


def verdict_table(found: Matrix) -> Html:
    rows = [
        [
            bias,
            told.word,
            with_titles(told.sentence),
            with_titles(", ".join(own_scenarios(bias))) or "nothing named",
            _survivors(found, bias),
        ]
        for bias, told in found.verdicts.items()
    ]
    columns = ["bias", "verdict", "why", "made for", "survives Holm"]
    return figure(tell_verdicts(found.verdicts), data_table(columns, rows, "Verdicts", sortable=False, sentences=True))


def write_matrices(folder: MatrixFolder, out: Path, made_by: str = "unbraid transfer report") -> list[Path]:
    """The page, tables and pictures of a matrix; returns what was written."""
    table = cell_table(folder)
    every = [matrix(folder, domain) for domain in folder.plan.domains]
    filled = {one.domain: one for one in every if one.values}
    text = matrix_page(list(filled.values()), folder.plan.name, made_by, table)
    make_folders(out)
    written = [out / "report.html", out / "report.md", out / "table.parquet", out / "cells.parquet"]
    write_text(written[0], text)
    write_text(written[1], matrix_markdown(folder.plan, table, filled, made_by))
    save_table(table, written[2])
    save_table(carry_cells(folder), written[3])
    for one in every:
        if not one.effects or not len(one.table()):
            continue
        pictures = [out / f"matrix-{one.domain}.{ending}" for ending in ("png", "svg")]
        draw_matrix(one, *pictures)
        save_table(one.table(), out / f"matrix-{one.domain}.csv")
        write_json(out / f"matrix-{one.domain}.json", one.to_json())
        written += [*pictures, out / f"matrix-{one.domain}.csv", out / f"matrix-{one.domain}.json"]
    return written


def _agreement(found: Matrix, tail: str) -> list[Section]:
    columns = [get_scenario(one).title for one in found.scenarios]
    whole, (within, counts) = found.agreement(), found.agreement_within()
    parts = []
    off = ~np.eye(len(columns), dtype=bool)
    if np.isfinite(whole[off]).any():
        parts.append(
            figure(OVER_ALL, heat_table(whole, columns, columns, "Over all models", low=-1, high=1, upright=True))
        )
    if np.isfinite(within[off]).any():
        about = f"{OVER_SEEDS} At most {int(counts.max())} biases have seeds enough."
        parts.append(
            figure(about, heat_table(within, columns, columns, "Over seeds of one bias", low=-1, high=1, upright=True))
        )
    return [section(f"Do scenarios agree?{tail}", parts, short=f"Agreement{tail}")] if parts else []


def _survivors(found: Matrix, bias: str) -> str:
    kept = [one.scenario for one in found.effects[bias].values() if one.survives]
    return with_titles(", ".join(kept)) or "none"


def _judged(outcome: Outcome) -> list[str]:
    found = outcome.verdict
    return [outcome.published, _unbroken(found.word), with_titles(found.sentence), with_titles(outcome.rule)]


def _unbroken(word: str) -> str:
    """A verdict on one line, however narrow its column."""
    return word.replace(" ", "\u00a0")

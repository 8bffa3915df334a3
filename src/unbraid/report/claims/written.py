"""The report as files: ``claims.html`` and ``claims.md``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from unbraid.claims import Standing, headline
from unbraid.files import make_folders, write_text
from unbraid.paths import quoted
from unbraid.report.claims.intervals import measured_words
from unbraid.report.claims.page import claims_page
from unbraid.report.claims.summary import NOT_TESTABLE, by_source, published_words, seeds_words, source_rows, stood
from unbraid.sharing import markdown

__all__ = ["write_report"]


def write_report(out: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    """Write both, and return the page."""
    make_folders(out)
    found = stood(records)
    write_text(out / "claims.md", "\n".join(_lines(found)) + "\n")
    path = out / "claims.html"
    write_text(path, claims_page(found, f"unbraid claims report --out {quoted(out)}"))
    return path


def _lines(found: Sequence[Standing]) -> Iterator[str]:
    yield from ("# Published claims, held to runs", "", headline(found) + ".", "")
    failed = [one for one in found if one.verdict == "not reproduced"]
    if failed:
        yield from ("## Not reproduced", "", *_table(failed))
    scales = [scale for scale in ("small", "paper") if any(scale in one.records for one in found)] or ["small"]
    for scale in scales:
        yield from (f"## Counts at {scale} scale", "")
        yield "| source | reproduced | not | inconclusive | not run | stand-ins | exact |"
        yield "|---|---|---|---|---|---|---|"
        for row in source_rows(found, scale):
            yield "| " + " | ".join(str(cell) for cell in row) + " |"
        yield ""
    for name, own in by_source(found).items():
        yield from (f"## {name}", "", *_table(own))
    yield from ("## Not testable here", "", "| what | where | why |", "|---|---|---|")
    for told in NOT_TESTABLE:
        yield "| " + " | ".join(markdown(cell) for cell in told) + " |"


def _table(found: Sequence[Standing]) -> Iterator[str]:
    yield "| claim | statement | published | measured | verdict | why | seeds | command |"
    yield "|---|---|---|---|---|---|---|---|"
    for one in found:
        record, scale = one.record, one.scale or "small"
        told = [] if record is None else [(s["name"], measured_words(s)) for s in record["statistic"]]
        measured = "; ".join(f"{name}: {words}" for name, words in told if words)
        verdict = "not run" if record is None else f"{one.verdict} ({scale})"
        cells = (
            one.claim.id,
            f"{one.claim.statement} ({one.claim.source})",
            published_words(one),
            measured,
            f"**{verdict}**" if one.verdict == "not reproduced" else verdict,
            "" if record is None else str(record["reason"]),
            seeds_words(record),
        )
        yield (
            "| "
            + " | ".join(markdown(cell) for cell in cells)
            + f" | `unbraid claims run {one.claim.id} --scale {scale}` |"
        )
    yield ""

"""The page about a study: how far it is, what it answers, what was published, and every run."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from unbraid.errors import UsageError
from unbraid.evaluation import title, told
from unbraid.reading import read_json
from unbraid.report.page.captions import ANSWERS, STUDY
from unbraid.report.page.charts import bullet
from unbraid.report.page.folder import Gap, plugin_words
from unbraid.report.page.markup import Html, Section, command, figure, fragment, note, section, tag
from unbraid.report.page.run_sections import gaps
from unbraid.report.page.shell import page
from unbraid.report.page.study_charts import draw
from unbraid.report.page.tables import data_table
from unbraid.study import (
    ANALYSES,
    PRESETS,
    Coverage,
    StudyFolder,
    answers_of,
    condition_columns,
    coverage,
    make_table,
    open_study,
    usual_measures,
)
from unbraid.study.analysis import METRICS, QUESTIONS, judge_findings, measured_means, metrics_of
from unbraid.study.published import compare, imitated, load
from unbraid.training import INFO

__all__ = ["study_page"]

_STATES = ("evaluated", "trained", "started", "pending", "failed")
_WORDS = {"evaluated": "measured", "trained": "trained", "started": "begun", "pending": "to come", "failed": "failed"}
_ROWS = 4000
"""Rows of the table of runs in the page; all of them are in the study's table.parquet."""


def study_page(path: Path) -> str:
    """The HTML of a study's report."""
    folder = open_study(path)
    found, table = coverage(folder), make_table(folder)
    made_by = _command(folder, "report", str(path))
    measured = table.filter(pl.col("status") == "evaluated")
    sections: list[Section | None] = [_coverage(folder, found)]
    if len(measured):
        sections += [_findings(measured), _means(measured)]
        sections += _questions(measured)
        sections.append(_published(measured))
    sections += [_runs(table, _own_scores(folder, found)), _reproduce(folder, made_by)]
    lead = [_tiles(folder, found), gaps(_gaps(folder, found, len(measured)))]
    about = f"{path}: {', '.join(folder.study.data)}"
    return page(f"Study {folder.study.name}", about, lead, [one for one in sections if one is not None], made_by)


def _tiles(folder: StudyFolder, found: Coverage) -> Html:
    study = folder.study
    names = sorted({setting.objective for setting in study.settings})
    shown = [
        ("runs planned", f"{len(study):,}", ""),
        ("measured", f"{found.count('evaluated'):,}", f"{100 * found.count('evaluated') / max(len(study), 1):.0f} %"),
        ("failed", f"{found.count('failed'):,}", ""),
        ("data sets", f"{len(study.data)}", ""),
        ("objectives", f"{len(names)}", f"{len(study.settings)} settings"),
        ("seeds", f"{len(study.seeds)}", ""),
    ]
    items = [tag("li", tag("span", name), tag("b", value), tag("small", extra)) for name, value, extra in shown]
    return tag("ul", items, class_="tiles")


def _continue(folder: StudyFolder, *words: str) -> str:
    """The command that goes on with a study."""
    name = folder.study.name if folder.study.name in PRESETS else "FILE.toml"
    return _command(folder, "study", "run", name, "--out", str(folder.path), *words)


def _command(folder: StudyFolder, *words: str) -> str:
    """A command with the files of own code that the study's first run was started with."""
    first = min(folder.path.glob(f"runs/*/{INFO}"), default=None)
    return shlex.join(["unbraid", *(plugin_words(read_json(first)) if first else ()), *words])


def _gaps(folder: StudyFolder, found: Coverage, measured: int) -> list[Gap]:
    left, failed = len(found.missing()) - found.count("failed"), found.count("failed")
    missing = []
    if left:
        missing.append(Gap(f"{left:,} runs", "they are not trained and measured yet", _continue(folder)))
    if failed:
        first = next(iter(found.errors.items()))
        why = f"they failed; run {first[0]:05d}: {first[1]}"
        missing.append(Gap(f"{failed:,} runs", why, _continue(folder, "--retry-failed")))
    if not measured:
        missing.append(Gap("the answers", "no run has been measured yet"))
    return missing


def _coverage(folder: StudyFolder, found: Coverage) -> Section:
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for spec in folder.study:
        counts[spec.data, spec.objective][found.states[spec.index]] += 1
    rows: list[list[object]] = []
    for (data, objective), states in counts.items():
        planned = sum(states.values())
        share = states["evaluated"] / planned
        chart = (bullet(share, 1.0), share)
        rows.append([data, objective, *(states[state] for state in _STATES), planned, chart])
    columns = ["data", "objective", *(_WORDS[state] for state in _STATES), "planned", "share measured"]
    table = data_table(columns, rows, "Runs by data set and objective")
    failed = None
    if found.errors:
        items = [tag("li", tag("b", f"{index:05d} "), error) for index, error in list(found.errors.items())[:20]]
        failed = tag("details", tag("summary", f"Why {len(found.errors)} runs failed"), tag("ul", items))
    return section("Coverage", figure(STUDY["coverage"], table), failed)


def _findings(measured: pl.DataFrame) -> Section | None:
    # The verdict stands beside the finding, where a phone shows it too.
    columns = ["question", "finding", "verdict", "measured here", "rule"]
    rows = [(one.question, one.text, *told(one.verdict), one.rule) for one in judge_findings(measured)]
    if not rows:
        return None
    shown = data_table(columns, rows, "Published findings, seen here or not", sentences=True)
    return section("Findings", figure(STUDY["findings"], shown))


def _means(measured: pl.DataFrame) -> Section | None:
    means = measured_means(measured)
    if not len(means):
        return None
    rows = [(title(str(row[0])), *row[1:]) for row in means.head(_ROWS).iter_rows()]
    more = f" The first {_ROWS:,} of {len(means):,}." if len(means) > _ROWS else ""
    shown = data_table(means.columns, rows, "Means over seeds", filterable=True)
    return section("Measured", figure(STUDY["means"] + more, shown))


def _questions(measured: pl.DataFrame) -> list[Section]:
    parts: dict[int, list[Html]] = defaultdict(list)
    for name, analysis in ANALYSES.items():
        heading = tag("h3", analysis.title)
        try:
            answer = analysis.answer(measured)
            if not len(answer):
                raise UsageError("no run has what it takes")
            beside = load(analysis.published) if analysis.published else None
            body = figure(ANSWERS.get(name, ""), draw(name, answer, beside))
        except UsageError as error:
            body = note(tag("b", "Not answered"), f" – {str(error).rstrip('.')}.")
        parts[analysis.question].append(fragment(heading, body))
    return [
        section(
            f"{number}. {QUESTIONS.get(number, 'More')}",
            parts[number],
            short=f"Question {number}",
        )
        for number in sorted(parts)
    ]


def _published(measured: pl.DataFrame) -> Section | None:
    """Tables of measured numbers with the published ones beside them."""
    blocks: list[Html] = []
    for name, analysis in ANALYSES.items():
        if analysis.published is None:
            continue
        printed = load(analysis.published)
        try:
            answer = analysis.answer(measured)
            names = imitated(answer, printed) if name != "transfer_trials" else {}
            both = compare(answer, printed, data=names or None)
        except UsageError as error:
            blocks.append(fragment(tag("h3", analysis.title), note(str(error))))
            continue
        columns = [column for column in both.columns if column in _BESIDE]
        rows = [
            [_shown(column, value) for column, value in zip(columns, row, strict=True)]
            for row in both.select(columns).iter_rows()
        ]
        said = "; ".join(f"{mine} is held against the published {theirs}" for mine, theirs in names.items())
        caption = f"Measured here beside the printed number, in percent. {said + '. ' if said else ''}{_FAIR}"
        blocks.append(fragment(tag("h3", analysis.title), figure(caption, data_table(columns, rows, analysis.title))))
    return section("Published beside measured", blocks, short="Published") if blocks else None


_BESIDE = ("data", "metric", "by", "measured", "published", "difference", "chance", "noise")
_FAIR = (
    "The published study trained 50 seeds of 36 settings for 300,000 steps: with fewer runs, expect the direction to "
    "hold and not the digits."
)


def _shown(column: str, value: object) -> object:
    return title(value) if column == "metric" and isinstance(value, str) else value


def _own_scores(folder: StudyFolder, found: Coverage) -> list[str]:
    """Names of the scores of those measures that not every study has, from the first runs that have them."""
    wanted = {entry.measure.name for entry in folder.study.measures}
    wanted -= {entry.measure.name for entry in usual_measures()}
    names: dict[str, None] = {}
    for index in (index for index, state in found.states.items() if state == "evaluated"):
        for answer in answers_of(folder.run(index)) if wanted else ():
            if answer.rows and answer.evaluation.measure.name in wanted:
                names |= dict.fromkeys(name for _, scores in answer.rows for name in scores)
                wanted.discard(answer.evaluation.measure.name)
    return list(names)


def _runs(table: pl.DataFrame, own: Sequence[str] = ()) -> Section | None:
    if not len(table):
        return None
    about = ["index", "data", "objective", "strength", "seed", *condition_columns(table), "status", "seconds"]
    wanted = dict.fromkeys(("reconstruction", "kl", *METRICS, "mcc", "udr", *metrics_of(table)))
    usual = [name for name in wanted if name in table.columns]
    numbers = [*usual, *(name for name in own if name in table.columns and name not in usual)]
    rows = [
        [f"{row[0]:05d}", *row[1:3], "-" if row[3] is None else float(row[3]), *row[4:]]
        for row in table.select(*about, *numbers).head(_ROWS).iter_rows()
    ]
    more = f" The first {_ROWS:,} of {len(table):,}; all are in table.parquet." if len(table) > _ROWS else ""
    columns = ["run", *about[1:], *(title(name) for name in numbers)]
    return section("Runs", figure(STUDY["runs"] + more, data_table(columns, rows, "Runs", filterable=True)))


def _reproduce(folder: StudyFolder, made_by: str) -> Section:
    return section(
        "Reproduce it",
        tag("p", "Go on with the study, write its answers as tables and plots, and make this page again:"),
        command(_continue(folder)),
        command(_command(folder, "study", "report", str(folder.path))),
        command(made_by),
    )

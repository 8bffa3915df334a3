"""A study's report as one Markdown page: what was run, which findings it reproduces, and every answer with its plot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

import polars as pl

from unbraid import objectives
from unbraid.errors import UsageError
from unbraid.evaluation import settings_of, told
from unbraid.files import save_table, write_text
from unbraid.sharing import code_span, markdown, sharable, spreadsheet
from unbraid.study.analysis import (
    FOUND,
    QUESTIONS,
    Answer,
    Finding,
    factors_found,
    judge_control,
    judge_findings,
    measured_means,
    permuted_control,
    permuted_pairs,
)
from unbraid.study.analysis._style import save_figure
from unbraid.study.grid import Evaluation, Study
from unbraid.study.invariance import invariance_sections, measures_invariance
from unbraid.study.learning import learning_end, plot_learning
from unbraid.study.noise import measures_noise, noise_sections
from unbraid.study.published import compare, imitated, load

__all__ = ["write_markdown"]

_SHOWN = 40
_MEASURED = "measured"


def write_markdown(
    path: Path, study: Study, table: pl.DataFrame, answers: Sequence[Answer], *, curves: pl.DataFrame | None = None
) -> None:
    """Write the page, and all means over seeds as ``measured.csv``; plots are expected beside it as ``NAME.png``.

    ``table`` has the measured runs only; the page says how many of the study's runs these are. ``curves`` are learning
    curves, which are written as ``learning.csv`` and drawn.
    """
    lines = [f"# Study {code_span(study.name)}", "", *_what(study, table)]
    found = judge_findings(table)
    if any(one.verdict.word != "cannot say" for one in found):  # else nothing of the kind was measured, as in a pilot
        lines += ["", "## Findings", "", *_findings(found)]
    factors = factors_found(table)
    if len(factors):
        lines += ["", "## What the codes tell of each factor", "", *_factors(factors)]
    if curves is not None and len(curves):
        lines += ["", "## Learning curves", "", *_curves(curves, path.parent)]
    if measures_noise(table):
        lines += noise_sections(table, path.parent)
    if measures_invariance(table):
        lines += invariance_sections(table)
    if len(table):
        means = measured_means(table)
        save_table(spreadsheet(means), path.with_name(f"{_MEASURED}.csv"))
        lines += [
            "",
            "## Measured",
            "",
            "Means and standard deviations over seeds.",
            "",
            *_head(means, _MEASURED, ".4g"),
        ]
    other = measures_noise(table) or measures_invariance(table) or curves is not None
    asked = QUESTIONS if any(answer.table is not None for answer in answers) or not other else {}
    for number, question in asked.items():
        lines += ["", f"## {number}. {question}"]
        for answer in (answer for answer in answers if answer.analysis.question == number):
            lines += ["", *_answer(answer)]
    if len(table) and permuted_pairs(table["data"].unique(maintain_order=True).to_list()):
        lines += ["", "## Control: factors that move independently", "", *_control(table)]
    write_text(path, sharable("\n".join(lines)) + "\n")


def _what(study: Study, table: pl.DataFrame) -> Iterable[str]:
    sweeps: dict[str, dict[str, None]] = {}
    for setting in study.settings:
        strength = "" if setting.strength is None else f"{setting.strength:g}"
        name = setting.objective + (f" ({setting.parameter} %s)" if setting.parameter else "")
        sweeps.setdefault(name, {})[strength] = None
    shown = "; ".join(name.replace("%s", ", ".join(values)) for name, values in sweeps.items())
    runs = table["index"].n_unique() if len(table) else 0
    hours = table.unique("index")["seconds"].sum() / 3600 if len(table) else 0.0
    nets = ", ".join(code_span(net) for net in study.each("net") if net) or "each objective's own"
    steps = " or ".join(f"{number:,}" for number in study.each("steps"))
    yield f"- Data: {', '.join(map(code_span, study.data))}"
    yield f"- Objectives: {markdown(shown)}"
    yield f"- {len(study.seeds)} seeds, {steps} steps, networks {nets}"
    yield from _training(study)
    yield f"- {runs} of {len(study)} runs measured; their training took {hours:.1f} hours of one core"
    yield f"- Measures: {'; '.join(_measure_words(entry) for entry in study.measures)}"
    yield "- Made by `unbraid study run` and `unbraid study report`; the table of all runs is `table.parquet`"


def _training(study: Study) -> Iterable[str]:
    """Every option that training had, given or not: first what all settings share, then each objective's own."""
    full: dict[str, list[dict[str, object]]] = {}
    for setting in study.settings:
        made = objectives.get(setting.objective)(**setting.options)
        names = [field.name for field in fields(made) if field.name not in ("net", setting.parameter)]
        full.setdefault(setting.objective, []).append({name: getattr(made, name) for name in names})
    every = [options for several in full.values() for options in several]
    shared = {name: value for name, value in every[0].items() if all(o.get(name, o) == value for o in every)}
    sizes = " or ".join(map(str, study.each("batch_size")))
    yield f"- Training: batches of {sizes} images; {_options(shared)}"
    for objective, several in full.items():
        own = {name: value for name, value in several[0].items() if name not in shared}
        fixed = {name: value for name, value in own.items() if all(o.get(name, o) == value for o in several)}
        if fixed:
            yield f"- {objective}: {_options(fixed)}"


def _options(options: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {_option(value)}" for name, value in options.items() if value not in ((), None, ""))


def _option(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _measure_words(entry: Evaluation) -> str:
    """A measure with those of its settings that are numbers."""
    numbers = [f"{key} {v:,}" for key, v in settings_of(entry.measure).items() if isinstance(v, int | float)]
    place = f" on {', '.join(map(code_span, entry.data))}" if entry.data else ""
    return f"{markdown(entry.measure.name)}{place}" + (f" ({', '.join(numbers)})" if numbers else "")


def _factors(found: pl.DataFrame) -> Iterable[str]:
    yield "Apart or not: R² of boosted trees on all mean codes, and how often they name the value of a category. A"
    yield f"quarter of the runs reaches what stands under best_quarter; found is the share with {FOUND} or more."
    yield ""
    yield from _rows(found)


def _curves(curves: pl.DataFrame, folder: Path) -> Iterable[str]:
    save_table(spreadsheet(curves), folder / "learning.csv")
    save_figure(plot_learning(curves), folder / "learning.png")
    yield "R² is the share of a factor's variance that the ten nearest codes tell; below, where the curves end."
    yield ""
    yield "![Learning curves](learning.png)"
    yield ""
    yield from _rows(learning_end(curves), ".3g")
    yield ""
    yield "`learning.csv` has all looks at all runs."


def _findings(found: Sequence[Finding]) -> Iterable[str]:
    yield (
        "The conclusions of Locatello et al. (2019), each with the rule by which it counts as reproduced. In brackets, "
        "95 % intervals of the numbers that decide, by leaving out one seed after the other; where a rule's limit lies "
        "inside, it is undecided. Settings that are the same model (beta-tcvae and beta-vae at beta 1) count once."
    )
    yield ""
    yield _in_words(found)
    yield ""
    yield "| | finding | rule | measured here | verdict |"
    yield "|---|---|---|---|---|"
    for one in found:
        word, sentence = told(one.verdict, strong="**")
        yield f"| {one.question} | {one.text} | {one.rule} | {sentence} | {word} |"


def _in_words(found: Sequence[Finding]) -> str:
    """How many conclusions hold, and which do not or cannot be told."""
    words: dict[str, list[str]] = {}
    for one in found:
        words.setdefault(one.verdict.word, []).append(one.text)
    told_apart = "".join(f"; {word}: {', '.join(texts)}" for word, texts in words.items() if word != "holds")
    return f"{len(words.get('holds', []))} of {len(found)} hold{told_apart}."


def _control(table: pl.DataFrame) -> Iterable[str]:
    yield "Klindt et al. (2021) find that taking the dependence of natural transitions away does not help."
    yield ""
    for (data, method), found in judge_control(table).items():
        word, sentence = told(found, strong="**")
        yield f"- `{data}`, {method}: {word}; {sentence}"
    yield ""
    yield from _rows(permuted_control(table), ".3f")


def _answer(answer: Answer) -> Iterable[str]:
    analysis = answer.analysis
    yield f"### {analysis.title}"
    yield ""
    if answer.missing or answer.table is None:
        yield f"Not answered: {markdown(answer.missing)}"
        return
    if answer.figure is not None:
        yield f"![{analysis.title}]({answer.name}.png)"
    if analysis.published:
        printed = load(analysis.published)
        names = {} if answer.name == "transfer_trials" else imitated(answer.table, printed)
        yield ""
        yield from (
            f"{code_span(mine)} stands beside the published {code_span(theirs)}." for mine, theirs in names.items()
        )
        yield ""
        try:
            beside = compare(answer.table, printed, data=names or None)
        except UsageError:  # nothing published about data like these
            beside = answer.table
        yield from _rows(beside)
    elif answer.figure is None:
        yield from _head(answer.table, answer.name)


def _head(table: pl.DataFrame, name: str, form: str = ".2f") -> Iterable[str]:
    yield from _rows(table.head(_SHOWN), form)
    if len(table) > _SHOWN:
        yield ""
        yield f"The first {_SHOWN} of {len(table)} rows; `{name}.csv` has all."


def _rows(table: pl.DataFrame, form: str = ".2f") -> Iterable[str]:
    yield "| " + " | ".join(map(markdown, table.columns)) + " |"
    yield "|" + "---|" * table.width
    for row in table.rows():
        yield "| " + " | ".join(_cell(value, form) for value in row) + " |"


def _cell(value: object, form: str) -> str:
    if value is None:
        return ""
    return f"{value:{form}}" if isinstance(value, float) else markdown(value)

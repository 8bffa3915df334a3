"""The page that sets several runs side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

from unbraid.evaluation import title
from unbraid.metrics import ABOVE, METRICS, above_ceiling
from unbraid.report.page.axes import number
from unbraid.report.page.captions import COMPARED
from unbraid.report.page.charts import Series, dot_rows, legend
from unbraid.report.page.latents import kl_bars, matrix, walks
from unbraid.report.page.markup import Html, Section, command, figure, fragment, section, tag
from unbraid.report.page.model import Look
from unbraid.report.page.run_sections import curve_chart, gaps, headline
from unbraid.report.page.shell import page
from unbraid.report.page.tables import data_table, scroll

__all__ = ["comparison_page", "run_names"]

_WALKS = 5
"""Latents shown of each run."""


def comparison_page(looks: Sequence[Look], made_by: str) -> str:
    """Curves overlaid, scores in columns, the best latents of each beside each other."""
    names = run_names(looks)
    kinds = sorted({headline(one) for one in looks})
    subtitle = "; ".join(kinds) if len(kinds) <= 4 else f"{len(kinds)} kinds of run"
    missing = [
        fragment(tag("p", tag("b", name)), gaps(one.folder.gaps))
        for name, one in zip(names, looks, strict=True)
        if one.folder.gaps
    ]
    folded = None
    if missing:
        text = f"{len(missing)} of these runs are not whole: what is missing, and which command makes it"
        folded = tag("details", tag("summary", text), missing, class_="note gap", open=len(missing) <= 2)
    found = [_runs(looks, names), _curves(looks, names), _scores(looks, names), _walks(looks, names)]
    found += [_latents(looks, names), _matrices(looks, names), _reproduce(looks, names, made_by)]
    heading = f"{len(looks)} runs compared"
    return page(heading, subtitle, fragment(legend(names), folded), [one for one in found if one is not None], made_by)


def run_names(looks: Sequence[Look]) -> list[str]:
    """Folder names, or as much of the paths as tells the runs apart."""
    paths = [one.folder.path.absolute().parts for one in looks]
    for depth in range(1, max(map(len, paths)) + 1):
        names = ["/".join(parts[-depth:]) for parts in paths]
        if len(set(names)) == len(names):
            return names
    return ["/".join(parts) for parts in paths]


def _runs(looks: Sequence[Look], names: Sequence[str]) -> Section:
    keys = dict.fromkeys(key for one in looks for key in one.folder.options)
    differ = [k for k in keys if len({repr(one.folder.options.get(k, "lacking")) for one in looks}) > 1]
    columns = ["run", "objective", "data", *differ, "seed", "steps"]
    predicted = list(dict.fromkeys(said.title for one in looks for said in one.predicted))
    columns += [*predicted, *map(title, ("reconstruction", "kl", "active"))]
    rows = []
    for name, one in zip(names, looks, strict=True):
        own = one.folder.options
        options = [_cell(own[key]) if key in own else None for key in differ]
        active = None if one.active is None else int(one.active.sum())
        seed = one.folder.info.get("seed")
        kl = None if one.kl is None else float(one.kl.sum())
        about = [name, one.folder.objective, one.folder.data, *options, seed if isinstance(seed, int) else None]
        told = {said.title: said.score.value for said in reversed(one.predicted)}  # of several, the first
        rows.append([*about, one.folder.step, *map(told.get, predicted), one.reconstruction, kl, active])
    same = {k: value for k in keys if k not in differ and (value := looks[0].folder.options[k]) not in ([], "")}
    words = ", ".join(f"{key} {value}" for key, value in same.items()) or "nothing"
    return section(
        "The runs",
        figure(
            f"{COMPARED['runs']} Alike in all: {words}.",
            data_table(columns, rows, "The runs"),
        ),
    )


def _cell(value: object) -> object:
    return value if isinstance(value, int | float | str) and not isinstance(value, bool) else str(value)


def _curves(looks: Sequence[Look], names: Sequence[str]) -> Section | None:
    terms = dict.fromkeys(term for one in looks if one.folder.history for term in one.folder.history.terms)
    charts = []
    for term in terms:
        series = [
            Series(name, one.folder.history.step, one.folder.history.terms[term], tone)
            for tone, (name, one) in enumerate(zip(names, looks, strict=True))
            if one.folder.history is not None and term in one.folder.history.terms
        ]
        charts.append(curve_chart(term, series))
    if not charts:
        return None
    return section(
        "Training",
        figure(
            COMPARED["curves"],
            legend(names),
            tag("div", charts, class_="grid"),
        ),
    )


def _scores(looks: Sequence[Look], names: Sequence[str]) -> Section | None:
    shown = [name for name in METRICS if any(name in (one.scores or {}) for one in looks)]
    if not shown:
        return None
    rows, dots, exceeded = [], [], False
    for name in shown:
        found = [(one.scores or {}).get(name) for one in looks]
        values = [math.nan if score is None else score.value for score in found]
        ceilings = [score.ceiling for score in found if score is not None and math.isfinite(score.ceiling)]
        sign = 1 if METRICS[name].higher_is_better else -1
        known_values = [sign * value for value in values if math.isfinite(value)]
        best = max(known_values) if len(known_values) > 1 else math.nan
        above = [score is not None and above_ceiling(score, 3) for score in found]
        exceeded |= any(above)
        cells = [
            tag(
                "td",
                number(value),
                "*" if marked else None,
                tag("span", " (best)", class_="unseen") if sign * value == best else None,
                class_="num best" if sign * value == best else "num",
                data_score=name,
                data_value=repr(value),
            )
            for value, marked in zip(values, above, strict=True)
        ]
        bound = "lower is better" if sign < 0 else number(max(ceilings)) if ceilings else "-"
        head = tag("th", title(name), scope="row", title=METRICS[name].about)
        rows.append(tag("tr", head, tag("td", bound, class_="num"), cells))
        if METRICS[name].range == (0.0, 1.0):
            dots.append((title(name), values, max(ceilings, default=math.nan)))
    head = tag(
        "tr",
        [tag("th", t, scope="col", class_="num" if i else None) for i, t in enumerate(["Score", "ceiling", *names])],
    )
    table = tag(
        "table",
        tag("caption", "Scores side by side", class_="unseen"),
        tag("thead", head),
        tag("tbody", rows),
        class_="data scores",
    )
    told = [one.scores_from or "No scores." for one in looks]
    sources = " ".join(f"{name}: {text}" for name, text in zip(names, told, strict=True))
    if len(set(told)) == 1:
        sources = told[0]
    return section(
        "Scores",
        figure(
            f"{COMPARED['scores']} {sources}" + (f" * {ABOVE}." if exceeded else ""),
            tag(
                "div",
                dot_rows(dots, "Scores", range(len(looks))) if dots else None,
                scroll(table, "Scores"),
                class_="beside",
            ),
        ),
    )


def _walks(looks: Sequence[Look], names: Sequence[str]) -> Section | None:
    shown = [
        tag("div", tag("h3", name), walks(one, _WALKS, f"{name}: "))
        for name, one in zip(names, looks, strict=True)
        if one.walks is not None
    ]
    if not shown:
        return None
    return section(
        "What the latents do",
        figure(
            COMPARED["walks"].format(count=_WALKS),
            tag("button", "Play all", type="button", class_="play-all"),
            tag("div", shown, class_="versus"),
        ),
        short="Latents",
    )


def _latents(looks: Sequence[Look], names: Sequence[str]) -> Section | None:
    charts = [
        kl_bars(one, name, tone)
        for tone, (name, one) in enumerate(zip(names, looks, strict=True))
        if one.kl is not None
    ]
    if not charts:
        return None
    told = COMPARED["latents"] + (f" {COMPARED['too_few']}" if any(one.names for one in looks) else "")
    return section("Active latents", figure(told, tag("div", charts, class_="grid")))


def _matrices(looks: Sequence[Look], names: Sequence[str]) -> Section | None:
    made = [matrix(one, "mig", "information", name) for name, one in zip(names, looks, strict=True)]
    shown = [one for one in made if one is not None]
    if not shown:
        return None
    return section(
        "Which latent knows which factor",
        figure(
            COMPARED["matrices"],
            tag("div", shown, class_="grid wide"),
        ),
        short="Information",
    )


def _reproduce(looks: Sequence[Look], names: Sequence[str], made_by: str) -> Section:
    blocks: list[Html] = []
    for name, one in zip(names, looks, strict=True):
        blocks += [tag("h3", name), command(one.folder.train), command(one.folder.report)]
    return section(
        "Reproduce it",
        tag("p", "The command that trains each run, the one for its own page, and the one for this page:"),
        command(made_by),
        blocks,
    )

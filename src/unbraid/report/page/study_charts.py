"""The answers of a study as charts: one function per analysis, from its table to pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from unbraid import objectives
from unbraid.errors import UsageError
from unbraid.evaluation import title
from unbraid.report.page.charts import Bar, Series, bars, legend, line_chart, scatter, strips
from unbraid.report.page.markup import Html, fragment, tag
from unbraid.report.page.tables import data_table, heat_table

__all__ = ["draw"]

_TABLE = 60
"""Rows of an answer that has no chart of its own."""
_SHOWN = 20
"""Longer tables are folded."""
_ORDER = ("beta-vae", "factor-vae", "beta-tcvae", "dip-vae-i", "dip-vae-ii", "annealed-vae")


def draw(name: str, answer: pl.DataFrame, published: pl.DataFrame | None = None) -> Html:
    """The picture of an analysis's answer; its table where there is no better one."""
    if name in _WITH_PUBLISHED:
        return _WITH_PUBLISHED[name](answer, published)
    if name in _CHARTS:
        return _CHARTS[name](answer)
    return _table(answer)


def _table(answer: pl.DataFrame) -> Html:
    names: dict[str, Callable[[str], str]] = {"metric": title, "objective": objectives.title}
    plain = [names.get(column, lambda value: value) for column in answer.columns]
    rows = [[name(value) for name, value in zip(plain, row, strict=True)] for row in answer.head(_TABLE).iter_rows()]
    more = f" (first {_TABLE} of {len(answer):,} rows)" if len(answer) > _TABLE else ""
    made = data_table(answer.columns, rows, f"Numbers{more}")
    return made if len(rows) <= _SHOWN else tag("details", tag("summary", f"{len(answer):,} rows{more}"), made)


def _sets(answer: pl.DataFrame, column: str = "data") -> list[str]:
    return answer[column].unique(maintain_order=True).to_list()


def _tones(answer: pl.DataFrame) -> dict[str, int]:
    found = set(answer["objective"].to_list())
    names = [name for name in _ORDER if name in found] + sorted(found - set(_ORDER))
    return {name: tone for tone, name in enumerate(names)}


def _by_set(answer: pl.DataFrame, charts: Callable[[pl.DataFrame], Sequence[Html]]) -> Html:
    """One grid of charts per data set, under its name if there are several."""
    names = _sets(answer)
    parts = [
        fragment(
            tag("h4", name) if len(names) > 1 else None,
            tag("div", charts(answer.filter(pl.col("data") == name)), class_="grid"),
        )
        for name in names
    ]
    return fragment(parts)


def _one_each(answer: pl.DataFrame, chart: Callable[[pl.DataFrame, str], Html], kind: str = "grid") -> Html:
    """One chart per data set, side by side."""
    return tag("div", [chart(answer.filter(pl.col("data") == name), name) for name in _sets(answer)], class_=kind)


def _places(answer: pl.DataFrame) -> dict[tuple[str, float | None], float]:
    """Every strength between 0, its objective's weakest regularisation, and 1, its strongest."""
    places: dict[tuple[str, float | None], float] = {}
    for (objective,), group in answer.group_by("objective"):
        name = str(objective)
        try:
            sign = objectives.get(name).regularisation
        except UsageError:  # an own objective that is not imported here
            sign = 1
        found = sorted(group["strength"].unique().drop_nulls().to_list(), key=lambda value: sign * value)
        places |= {(name, value): step / max(len(found) - 1, 1) for step, value in enumerate(found)}
        places[name, None] = 0.0
    return places


def _curves(answer: pl.DataFrame, panel: str, titles: dict[str, str], unit: str) -> Html:
    tones, places = _tones(answer), _places(answer)

    def charts(here: pl.DataFrame) -> list[Html]:
        made = []
        for value in [one for one in titles if one in set(here[panel].to_list())]:
            series = []
            for name, tone in tones.items():
                line = here.filter((pl.col(panel) == value) & (pl.col("objective") == name))
                x = np.array([places[name, strength] for strength in line["strength"]])
                line, x = line[np.argsort(x, kind="stable").tolist()], np.sort(x)
                low, middle, high = (line[key].to_numpy().astype(float) for key in ("low", "median", "high"))
                strengths = tuple("" if value is None else f"{value:g}" for value in line["strength"])
                series.append(Series(objectives.title(name), x, middle, tone, low, high, strengths))
            ends = ("weakest", "strongest")
            made.append(
                line_chart(
                    series,
                    titles[value],
                    x_label="strength",
                    y_label=unit,
                    logarithmic=panel == "representation",  # correlations of objectives differ by orders of magnitude
                    markers=True,
                    ends=ends,
                )
            )
        return made

    return fragment(legend([objectives.title(name) for name in tones]), _by_set(answer, charts))


def _correlation_of_codes(answer: pl.DataFrame) -> Html:
    return _curves(
        answer, "representation", {"sampled": "Sampled codes", "mean": "Mean codes"}, "total correlation, nats"
    )


def _strength_curves(answer: pl.DataFrame) -> Html:
    return _curves(answer, "metric", {name: title(name) for name in _sets(answer, "metric")}, "")


def _pairs(answer: pl.DataFrame, x: str, y: str, labels: tuple[str, str], same: bool) -> Html:
    tones = _tones(answer)

    def chart(here: pl.DataFrame, data: str) -> Html:
        series = []
        for name, tone in tones.items():
            runs = here.filter(pl.col("objective") == name).drop_nulls([x, y])
            series.append(Series(name, runs[x].to_numpy().astype(float), runs[y].to_numpy().astype(float), tone))
        about = f"{len(here)} runs"
        return scatter(series, data, x_label=labels[0], y_label=labels[1], diagonal=same, logarithmic=same, about=about)

    return fragment(legend([objectives.title(name) for name in tones]), _one_each(answer, chart))


def _correlation_pairs(answer: pl.DataFrame) -> Html:
    return _pairs(answer, "sampled", "mean", ("sampled codes (nats)", "mean codes (nats)"), True)


def _downstream_pairs(answer: pl.DataFrame) -> Html:
    names = [title(str(answer[key][0])) if len(answer) else "" for key in ("metric", "task")]
    return _pairs(answer, "score", "result", (names[0], names[1]), False)


def _correlations(answer: pl.DataFrame, rows: str, columns: str) -> Html:
    def chart(here: pl.DataFrame, data: str) -> Html:
        down, across = _sets(here, rows), _sets(here, columns)
        values = _percent(here, rows, columns, down, across)
        runs = int(here["runs"].max() or 0)  # type: ignore[arg-type]
        names = [title(name) for name in down], [title(name, short=True) for name in across]
        return heat_table(values, *names, f"{data}, {runs} runs", low=-100, high=100, digits=0)

    return _one_each(answer, chart, "grid wide")


def _percent(here: pl.DataFrame, rows: str, columns: str, down: Sequence[str], across: Sequence[str]) -> np.ndarray:
    """Correlations as a matrix in percent, NaN where there is none."""
    cells = {(a, b): value for a, b, value in here.select(rows, columns, "correlation").iter_rows()}
    found = [[cells.get((a, b)) for b in across] for a in down]
    return 100 * np.array([[np.nan if value is None else value for value in row] for row in found], dtype=float)


def _transfer(answer: pl.DataFrame) -> Html:
    names = _sets(answer, "source")
    made = []
    for metric in _sets(answer, "metric"):
        values = _percent(answer.filter(pl.col("metric") == metric), "source", "target", names, names)
        made.append(heat_table(values, names, names, title(metric), low=-100, high=100, digits=0))
    return tag("div", made, class_="grid")


def _score_spread(answer: pl.DataFrame) -> Html:
    tones = _tones(answer)

    def charts(here: pl.DataFrame) -> list[Html]:
        made = []
        for metric in _sets(here, "metric"):
            rows = here.filter(pl.col("metric") == metric).drop_nulls("value")
            groups = []
            for name, tone in tones.items():
                values = rows.filter(pl.col("objective") == name)["value"].to_numpy().astype(float)
                groups.append(Series(objectives.title(name), values, np.zeros(len(values)), tone))
            made.append(strips(groups, title(metric), x_label="score"))
        return made

    return _by_set(answer, charts)


def _variance_explained(answer: pl.DataFrame, published: pl.DataFrame | None) -> Html:
    printed = {} if published is None else {tuple(row[:3]): row[3] for row in published.iter_rows()}

    def charts(here: pl.DataFrame) -> list[Html]:
        made = []
        for tone, by in enumerate(_sets(here, "by")):
            rows = []
            for data, metric, explained, noise in (
                here.filter(pl.col("by") == by).select("data", "metric", "explained", "noise").iter_rows()
            ):
                value = np.nan if explained is None else float(explained)
                rows.append(Bar(title(metric), value, tone, noise, printed.get((data, metric, by))))
            made.append(
                bars(rows, by.capitalize().replace(" x ", " × "), x_label="percent of variance", top=100.0, left=150)
            )
        return made

    return _by_set(answer, charts)


def _transfer_trials(answer: pl.DataFrame, published: pl.DataFrame | None) -> Html:
    printed = {} if published is None else {tuple(row[:2]): row[2] for row in published.iter_rows()}
    rows = []
    for metric, data, percent, chance in answer.select("metric", "data", "percent", "chance").iter_rows():
        value = np.nan if percent is None else float(percent)
        rows.append(Bar(f"{metric} score, {data} data", value, 0, chance, printed.get((metric, data))))
    return bars(rows, "Wins against a random setting", x_label="percent of trials", top=100.0, left=150)


def _method_scores(answer: pl.DataFrame) -> Html:
    def chart(here: pl.DataFrame, data: str) -> Html:
        methods, metrics = _sets(here, "method"), _sets(here, "metric")
        means = {(a, b): value for a, b, value in here.select("method", "metric", "mean").iter_rows()}
        best = {(a, b) for a, b, mark in here.select("method", "metric", "mark").iter_rows() if mark == "best"}
        values = np.array([[100 * means.get((a, b), np.nan) for b in metrics] for a in methods])
        marked = np.array([[(a, b) in best for b in metrics] for a in methods])
        names = [title(name, short=True) for name in metrics]
        return heat_table(values, methods, names, f"{data}, means in percent", high=100, digits=0, marked=marked)

    return _one_each(answer, chart, "grid wide")


def _mean_ranks(answer: pl.DataFrame) -> Html:
    rows = [Bar(str(name), float(rank)) for name, rank in answer.select("method", "mean_rank").iter_rows()]
    return bars(rows, "Mean rank", x_label="1 is best", left=150)


_CHARTS: dict[str, Callable[[pl.DataFrame], Html]] = {
    "correlation_of_codes": _correlation_of_codes,
    "correlation_pairs": _correlation_pairs,
    "metric_agreement": lambda answer: _correlations(answer, "metric", "other"),
    "score_spread": _score_spread,
    "strength_curves": _strength_curves,
    "unsupervised_vs_metrics": lambda answer: _correlations(answer, "quantity", "metric"),
    "transfer_between_data": _transfer,
    "transfer_of_settings": _transfer,
    "downstream_vs_metrics": lambda answer: _correlations(answer, "task", "metric"),
    "downstream_pairs": _downstream_pairs,
    "method_scores": _method_scores,
    "mean_ranks": _mean_ranks,
}
_WITH_PUBLISHED: dict[str, Callable[[pl.DataFrame, pl.DataFrame | None], Html]] = {
    "variance_explained": _variance_explained,
    "transfer_trials": _transfer_trials,
}

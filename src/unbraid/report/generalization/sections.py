"""The parts of a benchmark's page, each from its tables."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import polars as pl

from unbraid.data import SPLITS, load, split
from unbraid.errors import UsageError
from unbraid.evaluation import told
from unbraid.report.generalization import charts
from unbraid.report.generalization.budget import budget
from unbraid.report.generalization.captions import CAPTIONS
from unbraid.report.generalization.rows import legend_of
from unbraid.report.generalization.split_panels import split_factors, split_panels
from unbraid.report.generalization.truth_panels import panel_grid, panels_of
from unbraid.report.page.axes import number
from unbraid.report.page.markup import Html, Section, figure, fragment, note, section, tag
from unbraid.report.page.tables import data_table
from unbraid.study.generalization import (
    LIKE,
    STANDS_FOR,
    Benchmark,
    Finding,
    Trained,
    augmentation_effects,
    beside_published,
    disentanglement_correlations,
    imitates,
    judge_findings,
    judge_statements,
)

__all__ = ["one_each", "sections", "spread_words", "tile_numbers"]


def sections(benchmark: Benchmark) -> list[Section]:
    """All parts that this benchmark has something for."""
    made = [
        _findings(benchmark),
        _scores(benchmark),
        _published(benchmark),
        _splits(benchmark),
        _panels(benchmark),
        _modularity(benchmark),
        _each("Which factor costs most", benchmark, charts.attribution_chart, "attribution", short="Factors"),
        _each("Towards the mean", benchmark, charts.towards_chart, "towards"),
        _similarity(benchmark),
        _disentanglement(benchmark),
        _augmentation(benchmark),
        _trust(benchmark),
        budget(benchmark),
    ]
    return [one for one in made if one is not None]


def _grid(parts: list[Html], kind: str = "grid") -> Html:
    return tag("div", parts, class_=kind)


def _findings(benchmark: Benchmark) -> Section:
    found, statements = judge_findings(benchmark), judge_statements(benchmark)
    blocks = [figure(CAPTIONS["findings"], _verdicts(found, "Published findings, seen here or not"))]
    if statements:
        shown = _verdicts(statements, "What the published tables say, seen here or not")
        blocks += [tag("h3", "What the published tables say"), figure(CAPTIONS["statements"], shown)]
    return section("Findings", blocks)


def _verdicts(found: list[Finding], title: str) -> Html:
    columns = ["data", "finding", "verdict", "measured here", "rule"]
    rows = [(one.data, f"({one.name}) {one.text}", *told(one.verdict), one.rule) for one in found]
    return data_table(columns, rows, title, sentences=True)


def _scores(benchmark: Benchmark) -> Section:
    names = list(dict.fromkeys(s for data in benchmark.data for s in benchmark.splits(data)))
    shown = _grid([charts.scores_chart(benchmark, data) for data in benchmark.data], "grid wide")
    return section("How well factors are known", figure(CAPTIONS["scores"], legend_of(names), shown), short="Scores")


def _published(benchmark: Benchmark) -> Section:
    table = beside_published(benchmark)
    blocks: list[Html] = []
    for data in benchmark.data:
        here, splits = table.filter(pl.col("data") == data), benchmark.splits(data)
        theirs = STANDS_FOR.get(data)
        cells = {(row["model"], row["split"]): row for row in here.iter_rows(named=True)}
        rows = [[model, *(_cell(cells.get((model, kind))) for kind in splits)] for model in benchmark.models(data)]
        about = f"R² x 100 on {data}"
        blocks += [tag("h3", data), *_beside_words(data, theirs), data_table(["model", *splits], rows, about)]
    return section(
        "Beside the published table",
        figure(f"{CAPTIONS['published']} Click on a heading to sort.", blocks),
        short="Published",
    )


def _beside_words(data: str, theirs: str | None) -> list[Html]:
    if data in LIKE:
        return [
            note(f"{data} is like {LIKE[data]}, not the same: no published numbers stand beside its own.", kind="info")
        ]
    if theirs is None or not imitates(data):
        return []
    words = f"{data} stands in for {theirs}: the same grid of factors, other images. Compare directions, not digits."
    return [note(words, kind="info")]


def _cell(row: dict[str, object] | None) -> tuple[object, object]:
    """Mean and standard deviation, and under it the published ones."""
    if row is None:
        return "", None
    printed = spread_words(row["published"], row["published_sd"])
    under = tag("small", f"[{printed}]", class_="under") if printed else None
    return fragment(spread_words(row["mean"], row["sd"]), under), row["mean"]


def spread_words(mean: object, sd: object) -> str:
    """A mean and its standard deviation, as far as they are known."""
    if not isinstance(mean, float):
        return ""
    return (f"{mean:.1f}" + (f" ± {sd:.1f}" if isinstance(sd, float) else "")).replace("-", "−")


def _splits(benchmark: Benchmark) -> Section | None:
    blocks: list[Html] = []
    left_out: list[bool] = []
    for data in benchmark.data:
        try:
            whole = load(data)
            made = [split(whole, kind) for kind in benchmark.splits(data) if kind in SPLITS]
        except UsageError as error:
            blocks.append(note(f"The splits of {data} cannot be drawn: {error}"))
            continue
        names = split_factors(made) if made else []
        if len(names) < 2:
            continue
        blocks += [tag("h3", data), _grid([split_panels(one, names) for one in made], "grid splits")]
        left_out += [
            bool((one.seen(first, second) == 0).any())
            for one in made
            if one.kind == "random"
            for first, second in combinations(names, 2)
        ]
    by_chance = "Random leaves out some cells by chance." if any(left_out) else "Random leaves no cell out."
    caption = f"{CAPTIONS['splits']} {by_chance}" if left_out else CAPTIONS["splits"]
    return section("What is trained on", figure(caption, blocks), short="Splits") if blocks else None


def _panels(benchmark: Benchmark) -> Section | None:
    blocks: list[Html] = []
    for data in benchmark.data:
        runs = one_each(benchmark, data)
        if not runs:
            continue
        shown = [
            fragment(tag("h4", f"{run.model.name}, seed {run.seed}"), panel_grid(panels_of(run.answers())))
            for run in runs
        ]
        more = tag("details", tag("summary", f"{len(shown) - 1} more models"), shown[1:]) if shown[1:] else None
        blocks += [tag("h3", f"{data}, extrapolation"), shown[0], more or Html("")]
    if not blocks:
        return None
    return section("Predicted against true", figure(CAPTIONS["panels"], blocks), short="Panels")


def one_each(benchmark: Benchmark, data: str) -> list[Trained]:
    """One run of every model on the extrapolation of a data set, the CNN (or the best supervised one) first."""
    chosen = set(benchmark.chosen["index"])
    runs = {
        run.model.name: run
        for run in reversed(benchmark.runs)
        if (run.data, run.split) == (data, "extrapolation") and run.index in chosen
    }
    order = benchmark.models(data)
    scores = benchmark.on(data).chosen.filter(pl.col("split") == "extrapolation", pl.col("kind") != "read-out")
    best = scores.group_by("model").agg(pl.col("r2").mean()).sort("r2", descending=True)["model"].to_list()
    first = "CNN" if "CNN" in runs else next(iter([*best, *order]), "")
    return [runs[name] for name in (first, *(name for name in order if name != first)) if name in runs]


def _modularity(benchmark: Benchmark) -> Section | None:
    blocks: list[Html] = []
    for data in benchmark.data:
        made = [charts.modularity_chart(benchmark, data, kind) for kind in ("extrapolation", "interpolation")]
        if any(made):
            blocks += [tag("h3", data), _grid([one for one in made if one is not None], "grid wide")]
    if not blocks:
        return None
    names = ["random split, all factors", "other factors", "the unseen factor"]
    shown = figure(CAPTIONS["modularity"], legend_of(names, bars=True), blocks)
    return section("Is one factor lost, or all?", shown, short="Modularity")


def _each(
    title: str, benchmark: Benchmark, chart: Callable[[Benchmark, str], Html | None], caption: str, short: str = ""
) -> Section | None:
    made = [drawn for data in benchmark.data if (drawn := chart(benchmark, data)) is not None]
    return section(title, figure(CAPTIONS[caption], _grid(made)), short=short) if made else None


def _similarity(benchmark: Benchmark) -> Section | None:
    made = [one for data in benchmark.data for one in charts.similarity_tables(benchmark, data)]
    if not made:
        return None
    return section(
        "Do models fail alike?", figure(CAPTIONS["similarity"], _grid(made, "grid wide")), short="Similarity"
    )


def _disentanglement(benchmark: Benchmark) -> Section | None:
    made = [one for data in benchmark.data if (one := charts.disentanglement_chart(benchmark, data)) is not None]
    if not made:
        return None
    names = list(dict.fromkeys(s for data in benchmark.data for s in benchmark.splits(data)))
    table = disentanglement_correlations(benchmark)
    columns = ["data", "split", "runs", "Pearson", "Spearman", "p of Spearman"]
    beside = data_table(columns, table.rows(), "Correlation of DCI and R²") if len(table) else None
    shown = figure(CAPTIONS["disentanglement"], legend_of(names), _grid(made), beside)
    return section("Does disentanglement help?", shown, short="Disentanglement")


def _augmentation(benchmark: Benchmark) -> Section | None:
    table = augmentation_effects(benchmark)
    if not len(table):
        return None
    columns = ["data", "split", "model", "augmentation", "mean R²", "sd over seeds", "seeds", "change of the mean"]
    shown = data_table(columns, table.rows(), "R² with and without augmentation")
    return section("Does augmentation help?", figure(CAPTIONS["augmentation"], shown), short="Augmentation")


def _trust(benchmark: Benchmark) -> Section | None:
    tables = [one for data in benchmark.data if (one := charts.trust_table(benchmark, data)) is not None]
    errors = [one for data in benchmark.data if (one := charts.error_chart(benchmark, data)) is not None]
    if not tables:
        return None
    blocks: list[Html] = [figure(CAPTIONS["trust"], _grid(tables, "grid wide"))]
    if errors:
        blocks += [
            tag("h3", "What errors are made of"),
            figure(CAPTIONS["errors"], legend_of(charts.PARTS, bars=True), _grid(errors)),
        ]
    return section("How far beyond?", blocks, short="Trust")


def tile_numbers(benchmark: Benchmark) -> list[tuple[str, str, str]]:
    """The numbers at the head of the page."""
    best = benchmark.chosen.filter(pl.col("split") == "extrapolation")
    shown = [
        ("models", f"{benchmark.chosen['model'].n_unique()}", ""),
        ("data sets", f"{len(benchmark.data)}", ", ".join(benchmark.data)),
        ("seeds", f"{len(benchmark.seeds)}", ""),
    ]
    for data in benchmark.data if len(best) else ():
        rows = best.filter(pl.col("data") == data).group_by("model").agg(pl.col("r2").mean()).sort("r2")
        if len(rows):
            shown.append((f"best extrapolation, {data}", number(float(rows["r2"][-1]), 2), str(rows["model"][-1])))
    return shown

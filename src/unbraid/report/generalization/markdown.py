"""A benchmark as a Markdown page with its charts and tables beside it, for documentation and repositories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from unbraid.errors import UsageError
from unbraid.evaluation import told
from unbraid.files import make_folders, save_table, write_text
from unbraid.report.generalization import charts
from unbraid.report.generalization.budget import COLUMNS, budget_rows
from unbraid.report.generalization.captions import CAPTIONS
from unbraid.report.generalization.picture import draw_panels
from unbraid.report.generalization.sections import one_each, spread_words
from unbraid.report.generalization.truth_panels import panels_of
from unbraid.report.page.markup import Html, slug
from unbraid.report.page.svg import standalone
from unbraid.sharing import code_span, markdown, sharable
from unbraid.study.generalization import (
    TABLES,
    Benchmark,
    Finding,
    augmentation_effects,
    beside_published,
    disentanglement_correlations,
    judge_findings,
    judge_statements,
)

__all__ = ["write_markdown"]


def write_markdown(benchmark: Benchmark, folder: str | Path, *, made_by: Sequence[str] = ()) -> Path:
    """Write ``report.md`` into a folder, its charts as SVG and PNG files, and every table as ``tables/NAME.parquet``.

    ``made_by`` are the commands that lead to it. :func:`unbraid.study.generalization.read_tables` reads the tables
    again, so that verdicts can be checked without the runs.
    """
    target = Path(folder)
    try:
        make_folders(target / "tables")
        for name in TABLES:
            save_table(getattr(benchmark, name), target / "tables" / f"{name}.parquet")
        lines = [f"# Generalisation benchmark {code_span(benchmark.name)}", "", *_about(benchmark, made_by)]
        lines += ["", "## Findings", "", CAPTIONS["findings"], "", *_verdicts(judge_findings(benchmark))]
        statements = judge_statements(benchmark)
        if statements:
            lines += ["", "## What the published tables say", "", CAPTIONS["statements"], "", *_verdicts(statements)]
        for data in benchmark.data:
            for title, block in _parts(benchmark, data, target):
                lines += ["", f"## {title}: {data}" if len(benchmark.data) > 1 else f"## {title}", "", *block]
        lines += ["", "## Budget", "", CAPTIONS["budget"], "", *_table(COLUMNS, budget_rows(benchmark))]
        write_text(target / "report.md", sharable("\n".join(lines)) + "\n")
    except OSError as error:
        raise UsageError(f"cannot write to {target} ({error.strerror or error}); choose another folder") from error
    return target / "report.md"


def _about(benchmark: Benchmark, made_by: Sequence[str]) -> Iterator[str]:
    chosen = benchmark.chosen
    yield f"- Data: {', '.join(map(code_span, benchmark.data))}"
    yield f"- {chosen['model'].n_unique()} models, {len(benchmark.seeds)} seeds, {len(benchmark.scores)} runs measured"
    yield f"- Every run is asked about {max(chosen['images'].to_list()):,} images of its test side, or all there are"
    for command in made_by:
        yield f"- Made by `{command}`"
    yield "- All tables are in `tables/`; `unbraid.study.generalization.read_tables` reads them"


def _verdicts(found: Sequence[Finding]) -> Iterator[str]:
    rows = [
        (one.data, f"({one.name}) {one.text}", one.rule, *reversed(told(one.verdict, strong="**"))) for one in found
    ]
    yield from _table(("data", "finding", "rule", "measured here", "verdict"), rows)


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield "|" + "---|" * len(columns)
    for row in rows:
        yield f"| {' | '.join(str(cell).replace('|', '/') for cell in row)} |"


def _parts(benchmark: Benchmark, data: str, target: Path) -> Iterator[tuple[str, list[str]]]:
    splits, name = benchmark.splits(data), slug(data)

    def drawn(chart: Html | None, file: str, legend: Sequence[str] = ()) -> list[str]:
        if chart is None:
            return []
        write_text(target / f"{file}-{name}.svg", standalone(chart, legend))
        return [f"![{markdown(file.replace('-', ' '))}]({file}-{name}.svg)"]

    scores = drawn(charts.scores_chart(benchmark, data), "scores", splits)
    yield "How well factors are known", [CAPTIONS["scores"], "", *scores]
    yield "Beside the published table", [CAPTIONS["published"], "", *_beside(benchmark, data)]
    panels = _panels(benchmark, data, target)
    if panels:
        yield "Predicted against true", [CAPTIONS["panels"], "", *panels]
    legend = ("random split, all factors", "other factors", "the unseen factor")
    lost = drawn(charts.modularity_chart(benchmark, data, "extrapolation"), "modularity", legend)
    if lost:
        yield "Is one factor lost, or all?", [CAPTIONS["modularity"], "", *lost]
    costs = drawn(charts.attribution_chart(benchmark, data), "attribution")
    if costs:
        yield "Which factor costs most", [CAPTIONS["attribution"], "", *costs]
    towards = drawn(charts.towards_chart(benchmark, data), "towards-the-mean")
    if towards:
        yield "Towards the mean", [CAPTIONS["towards"], "", *towards]
    alike = list(_similarity(benchmark, data))
    if alike:
        yield "Do models fail alike?", [CAPTIONS["similarity"], "", *alike]
    helps = drawn(charts.disentanglement_chart(benchmark, data), "disentanglement", splits)
    if helps:
        rows = disentanglement_correlations(benchmark.on(data)).drop("data").rows()
        cells = [
            (split, runs, *(f"{value:.2f}" for value in values[:2]), f"{values[2]:.2g}")
            for split, runs, *values in rows
        ]
        table = _table(("split", "runs", "Pearson", "Spearman", "p of Spearman"), cells)
        yield "Does disentanglement help?", [CAPTIONS["disentanglement"], "", *helps, "", *table]
    augmented = list(_augmented(benchmark, data))
    if augmented:
        yield "Does augmentation help?", [CAPTIONS["augmentation"], "", *augmented]
    errors = drawn(charts.error_chart(benchmark, data), "errors", charts.PARTS)
    if errors:
        yield "What errors are made of", [CAPTIONS["errors"], "", *errors]


def _beside(benchmark: Benchmark, data: str) -> Iterator[str]:
    splits = benchmark.splits(data)
    table = beside_published(benchmark).filter(pl.col("data") == data)
    cells = {(row["model"], row["split"]): row for row in table.iter_rows(named=True)}
    rows = [[model, *(_cell(cells.get((model, split))) for split in splits)] for model in benchmark.models(data)]
    yield from _table(("model", *splits), rows)


def _augmented(benchmark: Benchmark, data: str) -> Iterator[str]:
    rows = augmentation_effects(benchmark.on(data)).drop("data").rows()
    if rows:
        cells = [
            ["" if cell is None else f"{cell:.3f}" if isinstance(cell, float) else cell for cell in row] for row in rows
        ]
        yield from _table(("split", "model", "augmentation", "mean R²", "sd over seeds", "seeds", "change"), cells)


def _cell(row: dict[str, object] | None) -> str:
    if row is None:
        return ""
    printed = spread_words(row["published"], row["published_sd"])
    return spread_words(row["mean"], row["sd"]) + (f" [{printed}]" if printed else "")


def _panels(benchmark: Benchmark, data: str, target: Path) -> list[str]:
    runs = one_each(benchmark, data)
    panels = panels_of(runs[0].answers()) if runs else []
    if not panels:
        return []
    title = f"{runs[0].model.name} on {data}, extrapolation, seed {runs[0].seed}"
    picture = draw_panels(panels, target / f"panels-{slug(data)}.png", title=title)
    return [f"![{markdown(title)}]({picture.name})"]


def _similarity(benchmark: Benchmark, data: str) -> Iterator[str]:
    table = benchmark.on(data).similarity.filter(pl.col("pooled").is_not_nan())
    means = table.group_by("first", "second").agg(pl.col("pooled").mean())
    cells = {(first, second): value for first, second, value in means.iter_rows()}
    names = [name for name in (*benchmark.models(data), "truth") if any(name in pair for pair in cells)]
    if not cells:
        return
    rows = [
        [name, *(f"{100 * cells[name, other]:.0f}" if (name, other) in cells else "" for other in names)]
        for name in names
    ]
    yield from _table(("pooled over factors", *names), rows)

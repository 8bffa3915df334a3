"""Tables of a benchmark on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from unbraid.study.generalization import Benchmark

__all__ = ["json_rows", "print_published", "print_table"]


def print_published(benchmark: Benchmark, table: pl.DataFrame) -> None:
    """R² x 100 by model and split, the published cell in brackets."""
    import polars as pl
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from unbraid.study.generalization import STANDS_FOR, imitates

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=160)
    for data in benchmark.data:
        here, theirs = table.filter(pl.col("data") == data), STANDS_FOR.get(data)
        beside = f"; in brackets published for {theirs}" if theirs else ""
        console.print(Text.assemble((data, "bold"), f": R² x 100, mean ± standard deviation over seeds{beside}"))
        if imitates(data):
            console.print(f"{data} stands in for {theirs}: compare directions, not digits", style="dim")
        shown = Table(box=None, pad_edge=False, header_style="bold")
        shown.add_column("model", no_wrap=True)
        splits = benchmark.splits(data)
        for split in splits:
            shown.add_column(split, justify="right", no_wrap=True)
        rows = {(row["model"], row["split"]): row for row in here.iter_rows(named=True)}
        for model in benchmark.models(data):
            shown.add_row(model, *(Text(_cell(rows.get((model, split)))) for split in splits))
        for name in benchmark.baselines["baseline"].unique(maintain_order=True).to_list():
            own = benchmark.baselines.filter((pl.col("data") == data) & (pl.col("baseline") == name))
            values = dict(own.select("split", "r2").rows())
            shown.add_row(Text(name, "dim"), *(Text(f"{100 * values[s]:.1f}", "dim") for s in splits))
        console.print(shown)
        console.print()


def _cell(row: dict[str, object] | None) -> str:
    if row is None:
        return "-"
    text = _number(row["mean"], row["sd"])
    return text if row["published"] is None else f"{text} [{_number(row['published'], row['published_sd'])}]"


def _number(mean: object, sd: object) -> str:
    return f"{mean:.1f}" + ("" if sd is None else f" ± {sd:.1f}")


def json_rows(table: pl.DataFrame) -> list[dict[str, object]]:
    """Rows as JSON holds them: a number that is not defined is null."""
    import polars as pl

    floats = pl.selectors.float()
    return table.with_columns(pl.when(floats.is_finite()).then(floats)).to_dicts()


def print_table(table: pl.DataFrame) -> None:
    """All rows of a table; numbers with three digits after the point."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=200)
    shown = Table(box=None, pad_edge=False, header_style="bold")
    numeric = [kind.is_numeric() for kind in table.schema.values()]
    for name, right in zip(table.columns, numeric, strict=True):
        shown.add_column(name, justify="right" if right else "left", no_wrap=True)
    for row in table.iter_rows():
        shown.add_row(*(Text(_plain(value)) for value in row))
    console.print(shown)


def _plain(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3f}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)

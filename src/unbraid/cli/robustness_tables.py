"""Tables of robustness on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars
    from rich.console import Console

    from unbraid.robustness import CorruptionTable

__all__ = ["print_adversarial", "print_attacks", "print_bounds", "print_corruptions", "print_noise"]


def print_corruptions(tables: Sequence[CorruptionTable], reference: CorruptionTable | None) -> None:
    """A row per corruption, a column per model; brackets around what training showed."""
    from rich.table import Table

    console, first = _console(), tables[0]
    console.print(f"Accuracy in % on {first.images:,} images of {first.data}, {first.suite}, ± standard error")
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("corruption", no_wrap=True)
    for one in tables:
        shown.add_column(one.model, justify="right", no_wrap=True)
    columns = [one.by_corruption().rows() for one in tables]
    for cells in zip(*columns, strict=True):
        shown.add_row(cells[0][0], *(_share(share, error, trained) for _, _, share, error, trained in cells))
    shown.add_section()
    shown.add_row("mean", *(_share(one.mean(), one.mean_error(), one.marked()) for one in tables), style="bold")
    kinds = set(first.categories.values())
    if "noise" in kinds and len(kinds) > 1:
        cells = [(one.mean("noise"), one.mean_error("noise"), one.marked("noise")) for one in tables]
        shown.add_row("mean without noise", *(_share(*cell) for cell in cells))
    if all(one.top5 is not None for one in tables):
        shown.add_row("mean, among five", *(f"{100 * (one.top5 or 0):.1f}" for one in tables))
    if reference is not None:
        name = f"errors, % of {reference.model}"
        shown.add_row(name, *(f"{one.mce(reference):.1f}" for one in tables))
    console.print(shown)
    if any(one.marked() for one in tables):
        console.print("( ) was shown in training", style="dim")


def print_noise(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A row per model and kind of noise."""
    _print(
        columns, [[*row[:2], *(f"{value:.4g}" for value in row[2:5]), *(f"{v:.1f}" for v in row[5:])] for row in rows]
    )


def print_adversarial(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A row per model and norm."""
    _print(columns, [[*row[:2], f"{row[2]:g}", *(f"{v:.1f}" for v in row[3:7]), f"{row[7]:,}"] for row in rows])


def print_attacks(table: polars.DataFrame, data: str, last: str) -> None:
    """A row per norm and attack, a column per model: median distance / accuracy at the bound in %."""
    models = list(dict.fromkeys(table["model"]))
    cells = {(row["model"], row["norm"], row["attack"]): row for row in table.iter_rows(named=True)}
    images = int(table["images"].max())  # type: ignore[arg-type]
    _console().print(f"Median distance / accuracy at the bound in %, {images:,} images of {data}")
    bounds = dict(table.select("norm", "bound").iter_rows())
    rows = []
    for norm, bound in bounds.items():
        known = dict.fromkeys(attack for _, kind, attack in cells if kind == norm and attack != last)
        for attack in (*known, last):
            found = [cells.get((model, norm, attack)) for model in models]
            shown = ["" if one is None else f"{one['median']:.3g} / {one['accuracy']:.0f}" for one in found]
            rows.append([f"{norm} ({bound:g})", attack, *shown])
    _print(["norm (bound)", "attack", *models], rows)


def print_bounds(rows: Sequence[Mapping[str, Any]], assumption: str) -> None:
    """A row per ABS model, and what its bounds rest on."""
    if rows:
        columns, numbers = ["model", "", "L2, mean", "coupled, mean", "Linf, median"], ("l2", "coupled", "linf")
        _console().print(f"\nHow far at least, {rows[0]['images']:,} images; {assumption}")
        _print(columns, [[row["model"], "", *(f"{row[name]:.3g}" for name in numbers)] for row in rows])


def _print(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table

    shown = Table(box=None, pad_edge=False, header_style="bold")
    for place, name in enumerate(columns):
        shown.add_column(name, justify="left" if place < 2 else "right", no_wrap=True)
    for row in rows:
        shown.add_row(*row)
    _console().print(shown)


def _share(share: float, error: float | None, trained: bool) -> str:
    text = f"{100 * share:.1f}" + ("" if error is None else f" ± {100 * error:.1f}")
    return f"({text})" if trained else text


def _console() -> Console:
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    return console if console.is_terminal else Console(highlight=False, markup=False, width=160)

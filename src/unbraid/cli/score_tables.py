"""Tables of scores on the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.evaluation import Measured, Summary
    from unbraid.metrics import Score
    from unbraid.training import Run

__all__ = ["print_head", "print_metrics", "print_rows", "print_scores", "print_summary"]


def print_head(run: Run, dataset: ImageDataset) -> None:
    """What was measured, and on what."""
    from rich.console import Console

    Console().print(f"\n[bold]{run.path}[/]  {run.objective.name} on {dataset.name}, step {run.info['step']:,}")


def print_rows(answer: Measured) -> None:
    """A table of a measure's conditions and scores."""
    from rich.console import Console
    from rich.table import Table

    from unbraid.evaluation import title

    conditions = dict.fromkeys(key for condition, _ in answer.rows for key in condition)
    names = dict.fromkeys(name for _, scores in answer.rows for name in scores)
    table = Table(box=None, pad_edge=False, header_style="bold", title=answer.measure.title, title_justify="left")
    for key in conditions:
        table.add_column(key)
    for name in names:
        table.add_column(title(name), justify="right")
    for condition, scores in answer.rows:
        cells = [str(condition.get(key, "")) for key in conditions]
        table.add_row(*cells, *(f"{float(scores[name]):.4g}" if name in scores else "-" for name in names))
    console = Console()
    console.print()
    console.print(table)


def print_summary(summary: Summary) -> None:
    """Reconstruction, KL and which latents are active."""
    from rich.console import Console
    from rich.table import Table

    from unbraid.evaluation import title

    console = Console()
    table = Table(box=None, pad_edge=False)
    for column in ("reconstruction", "kl", "elbo", "active"):
        table.add_column(title(column), justify="right")
    active = summary.active
    kl_per_latent = summary.kl_per_latent
    table.add_row(
        "-" if summary.reconstruction is None else f"{summary.reconstruction:.2f}",
        "-" if summary.kl is None else f"{summary.kl:.2f}",
        "-" if summary.elbo is None else f"{summary.elbo:.2f}",
        "-" if active is None or kl_per_latent is None else f"{len(active)} of {len(kl_per_latent)}",
    )
    console.print(table)
    if active and kl_per_latent is not None:
        console.print("KL per latent: " + "  ".join(f"z{j} {kl_per_latent[j]:.2f}" for j in active))


def print_scores(scores: Mapping[str, Score], seconds: Mapping[str, float], heading: str | None = None) -> None:
    """Values, ceilings and how long each took; nothing for one that was read."""
    from rich.console import Console
    from rich.table import Table

    if not scores:
        return
    table = Table(box=None, pad_edge=False, header_style="bold", title=heading, title_justify="left")
    for column, side in (("score", "left"), ("value", "right"), ("ceiling", "right"), ("seconds", "right")):
        table.add_column(column, justify=side)  # type: ignore[arg-type]
    for name, score in scores.items():
        table.add_row(
            name,
            f"{score.value:.3f}",
            "-" if score.ceiling is None or math.isnan(score.ceiling) else f"{score.ceiling:.3f}",
            f"{seconds[name]:.2f}" if name in seconds else "-",
        )
    console = Console()
    console.print()
    console.print(table)


def print_metrics() -> None:
    """The list of scores."""
    from rich.console import Console
    from rich.table import Table

    from unbraid.metrics import METRICS

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("score")
    table.add_column("what it says")
    for name, entry in METRICS.items():
        table.add_row(name, entry.about)
    Console().print(table)

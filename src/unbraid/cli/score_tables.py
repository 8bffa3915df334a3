"""Tables of scores on the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.evaluation import Measured, Summary
    from unbraid.metrics import Score
    from unbraid.training import Run

__all__ = ["print_head", "print_kept", "print_metrics", "print_rows", "print_scores", "print_summary"]

BESIDE = {"unfairness": ("accuracy", "by_chance"), "strong": ("plain", "gap"), "reduced": ("plain", "own", "others")}
"""Parts without which a score misleads, printed below it."""
ACROSS = 8
"""More numbers than these stand below each other."""


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
    console = Console()
    console.print()
    if not conditions and len(names) > ACROSS:
        table.show_header = False
        for name in names:
            table.add_row(title(name), *(f"{float(scores[name]):.4g}" for _, scores in answer.rows))
        console.print(table)
        return
    for key in conditions:
        table.add_column(key)
    for name in names:
        table.add_column(title(name), justify="right")
    for condition, scores in answer.rows:
        cells = [str(condition.get(key, "")) for key in conditions]
        table.add_row(*cells, *(f"{float(scores[name]):.4g}" if name in scores else "-" for name in names))
    console.print(table)


def print_kept(answer: Measured) -> None:
    """Which factor breaks under which corruption: a row per corruption, a column per factor."""
    from rich.console import Console
    from rich.table import Table

    from unbraid.evaluation import kept_table

    found = kept_table(answer.rows)
    if found is None:
        return
    table = Table(box=None, pad_edge=False, header_style="bold", title=answer.measure.title, title_justify="left")
    table.add_column("kept of what clean images tell")
    for factor in found.factors:
        table.add_column(factor, justify="right", no_wrap=True)
    table.add_row(f"clean, {found.unit}", *(f"{round(value, 2) + 0.0:.2f}" for value in found.clean), end_section=True)
    for name, kept, first in zip(found.rows, found.kept, found.breaks_first, strict=True):
        cells = ("-" if math.isnan(value) else f"{value:.2f}" for value in kept)
        table.add_row(name, *(f"[bold]{cell}*[/]" if mark else cell for cell, mark in zip(cells, first, strict=True)))
    console = Console()
    console.print()
    console.print(table)
    console.print("1 is as from clean images, 0 no better than guessing. * breaks before all other factors.")
    console.print(found.verdict(), markup=False, highlight=False)


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


def print_scores(
    scores: Mapping[str, Score],
    seconds: Mapping[str, float],
    heading: str | None = None,
    not_possible: Mapping[str, str] | None = None,
    factors: Sequence[str] = (),
    sizes: Sequence[int] | None = None,
) -> None:
    """Values, ceilings and how long each took (nothing for one that was read); below, what the numbers hide.

    ``factors`` are the names behind the columns that settings number, ``sizes`` how many values they have on a grid.
    """
    from rich.console import Console
    from rich.table import Table

    from unbraid.evaluation import title
    from unbraid.metrics import ABOVE, above_ceiling

    refused = dict(not_possible or {})
    refused |= {name: s.settings["not_possible"] for name, s in scores.items() if "not_possible" in s.settings}
    scores = {name: score for name, score in scores.items() if name not in refused}
    if not scores and not refused:
        return
    table = Table(box=None, pad_edge=False, header_style="bold", title=heading, title_justify="left")
    for column, side in (("score", "left"), ("value", "right"), ("ceiling", "right"), ("seconds", "right")):
        table.add_column(column, justify=side)  # type: ignore[arg-type]
    for name, score in scores.items():
        mark = "*" if above_ceiling(score, 3) else ""
        table.add_row(
            name,
            f"{score.value:.3f}{mark}",
            "-" if score.ceiling is None or math.isnan(score.ceiling) else f"{score.ceiling:.3f}",
            f"{seconds[name]:.2f}" if name in seconds else "-",
        )
        if "live" in score.parts:
            table.add_row(f"  of its {score.parts['live_codes']} live codes", f"{score.parts['live']:.3f}", "-", "-")
        for part in BESIDE.get(name, ()):
            table.add_row(f"  {title(f'{name}_{part}')}", f"{score.parts[part]:.3f}", "-", "-")
    console = Console()
    console.print()
    if scores:
        console.print(table)
    for name, why in refused.items():
        console.print(f"{name} not possible: {why}", markup=False, highlight=False)
    if any(above_ceiling(score, 3) for score in scores.values()):
        console.print(f"* {ABOVE}", markup=False, highlight=False)
    if any("live" in score.parts for score in scores.values()):
        console.print(_LIVE, markup=False, highlight=False)
    _print_bins(scores, factors)
    if sizes:  # none where the data have no factors, or classes alone
        _print_bias(scores, factors, sizes)


def _print_bias(scores: Mapping[str, Score], factors: Sequence[str], sizes: Sequence[int]) -> None:
    """What a code that knows nothing seems to know, where something was counted."""
    from rich.console import Console

    from unbraid.metrics import counting_bias

    counted = {n: s.settings for n, s in scores.items() if s.settings.get("bins") and s.settings.get("samples")}
    for bins, samples in sorted({(one["bins"], one["samples"]) for one in counted.values()}):
        names = [n for n, one in counted.items() if (one["bins"], one["samples"]) == (bins, samples)]
        bias = counting_bias(sizes, samples, bins)
        least, most = int(bias.argmin()), int(bias.argmax())
        told = f"{bias[most]:.1%} of what there is to know of {factors[most]} ({sizes[most]} values)"
        if least != most:
            told = f"{bias[least]:.1%} of {factors[least]} ({sizes[least]} values) and {told}"
        Console().print(
            f"Counts are biased: of {samples:,} samples in {bins} bins a code that knows nothing seems to know about "
            f"{told}; so for {', '.join(names)}.",
            markup=False,
            highlight=False,
        )


_LIVE = (
    "Live codes have a standard deviation of at least 0.05 of the largest. Dead ones are faint functions of the others "
    "and count as much as these in the correlation of all codes: read the value of the live ones."
)


def _print_bins(scores: Mapping[str, Score], factors: Sequence[str]) -> None:
    """Which scores saw measured factors cut into bins."""
    from rich.console import Console

    cut = {name: score.settings for name, score in scores.items() if score.settings.get("factor_bins")}
    if not cut:
        return
    one = next(iter(cut.values()))
    kept = one.get("factors") or factors
    names = [str(kept[k]) if k < len(kept) else f"factor {k}" for k in one["binned_factors"]]
    Console().print(
        f"Measured factors ({', '.join(names)}) were cut into {one['factor_bins']} bins of equal counts for "
        f"{', '.join(cut)}.",
        markup=False,
        highlight=False,
    )


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

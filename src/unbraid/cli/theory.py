"""unbraid theory impossibility"""

from __future__ import annotations

import json as json_module
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from unbraid.errors import UsageError
from unbraid.files import make_folders

if TYPE_CHECKING:
    from unbraid.metrics import Score
    from unbraid.theory import Bijection, Check

__all__ = ["theory_impossibility"]

_FROM_ARRAYS = ("sample", "train and test")
_SLOW = ("dci_es", "downstream")
"""Scores left out of ``quick``: minutes for codes that mix everything."""


@dataclass(frozen=True)
class _Options:
    alpha: float
    points: int
    metrics: str
    seed: int
    out: Path | None
    quiet: bool


def theory_impossibility(
    run: Positional[Annotated[Path | None, arg(metavar="[RUN]")]] = None,
    *,
    dimensions: int = 2,
    alpha: float = 0.3,
    matrix: Annotated[Literal["householder", "hadamard", "random"] | None, arg(metavar="NAME")] = None,
    marginals: Annotated[Literal["uniform", "normal", "empirical"] | None, arg(metavar="NAME")] = None,
    points: int = 10_000,
    metrics: str = "quick",
    seed: int = 0,
    data: Annotated[str | None, arg(metavar="STR")] = None,
    out: Annotated[Path | None, arg(metavar="PATH")] = None,
    json: bool = False,
) -> None:
    """Entangle completely what has come apart, without changing its distribution: the impossibility theorem at work.

    Without RUN it takes independent sources, with RUN the codes of a trained model. It prints whether the law was
    kept, how much every output depends on every input, and every score before and after.

    Args:
        run: Folder of a run to entangle; its reconstructions stay the same.
        dimensions: Number of sources (a run brings its own).
        alpha: Weight of the first coordinate in the Householder matrix, between 0 and 0.5.
        matrix: householder, hadamard (2, 4, 8, ... dimensions) or random (otherwise householder for sources and random
            for a run, whose many codes a Householder matrix hardly mixes).
        marginals: Law of each coordinate: uniform, normal, or empirical, which is that of a run's codes (otherwise
            uniform for sources and normal, the prior, for a run).
        points: Draws of the sources, or images of the run's data set.
        metrics: quick, or names separated by commas (unbraid evaluate --metrics help lists them).
        seed: Decides draws and the random matrix.
        data: Data set to encode (otherwise the one the run was trained on).
        out: Folder for impossibility.json, bijection.png and, for a run, traversals.png.
        json: Print the result as JSON.
    """
    if points < 100:
        raise UsageError(f"points must be at least 100, got {points}")
    options = _Options(alpha, points, metrics, seed, out, json)
    if run is None:
        if marginals == "empirical":
            raise UsageError("empirical marginals are those of a run's codes; give a RUN, or use uniform or normal")
        if data is not None:
            raise UsageError("--data says what to encode with a RUN; none was given")
        result = _of_sources(dimensions, matrix or "householder", marginals or "uniform", options)
    else:
        if marginals == "uniform":
            raise UsageError("a run's codes are not uniform; use normal (the prior) or empirical marginals")
        result = _of_run(run, data, matrix or "random", marginals or "normal", options)
    if out is not None:
        from unbraid.files import write_json

        write_json(out / "impossibility.json", result)
    if json:
        print(json_module.dumps(result, allow_nan=False))
    elif out is not None:
        print(f"wrote {out}")


def _of_sources(dimensions: int, matrix: Any, marginals: str, options: _Options) -> dict[str, Any]:
    from unbraid.metrics import score_codes
    from unbraid.theory import bijection, binned_sources, check, sample_marginals

    f = bijection(dimensions, matrix=matrix, alpha=options.alpha, marginals=marginals, seed=options.seed)
    sources = sample_marginals(f, options.points, options.seed)
    factors = binned_sources(f, sources)
    names = _names(options.metrics)
    before, after = (score_codes(codes, factors, metrics=names, seed=options.seed) for codes in (sources, f(sources)))
    found = check(f, sources)
    if options.out is not None:
        from unbraid.report.theory import draw_bijection

        make_folders(options.out)
        draw_bijection(f, sources, options.out / "bijection.png", scores=_bounded(before, after))
    title = f"{dimensions} independent {marginals} sources, {options.points:,} draws, factors are their tenths"
    return _tell(title, f, found, before, after, None, options.quiet)


def _of_run(path: Path, data: str | None, matrix: Any, marginals: Any, options: _Options) -> dict[str, Any]:
    import numpy as np

    from unbraid.data import counter_rng
    from unbraid.metrics import evaluate
    from unbraid.theory import DependenceWarning, check, entangle
    from unbraid.training import open_run

    run = open_run(path)
    dataset = run.data(data)
    rng = counter_rng(options.seed, 0)
    images = dataset.images(dataset.sample_index(options.points, rng), rng)
    codes = run.encode(images)
    twin = entangle(run, matrix=matrix, alpha=options.alpha, marginals=marginals, codes=codes, seed=options.seed)
    # Over all images, codes drawn from the posteriors follow the prior as far as training got; mean codes do not.
    drawn = codes if marginals == "empirical" else run.encode(images, kind="sampled", seed=options.seed)
    with warnings.catch_warnings():
        # The printed total correlation says it; a warning would say it twice.
        warnings.simplefilter("ignore", DependenceWarning)
        found = check(twin.f, drawn)
    before: dict[str, Score] = {}
    after: dict[str, Score] = {}
    if dataset.factor_sizes:
        before, after = (
            evaluate(
                each,
                dataset,
                metrics=_names(options.metrics),
                train=options.points,
                test=options.points // 2,
                points=(500, 250),
                seed=options.seed,
            )
            for each in (run, twin)
        )
    few = images[:256]
    change = np.abs(run.decode(run.encode(few)).astype(int) - twin.decode(twin.encode(few)).astype(int))
    if options.out is not None:
        from unbraid.report import traverse
        from unbraid.report.theory import draw_bijection, draw_traversals

        make_folders(options.out)
        draw_bijection(twin.f, drawn, options.out / "bijection.png", scores=_bounded(before, after))
        first, second = (traverse(each, dataset, seed=options.seed) for each in (run, twin))
        draw_traversals(first, second, options.out / "traversals.png")
    title = f"{path}, {run.objective.name} on {dataset.name}, {options.points:,} images, {marginals} marginals"
    return _tell(title, twin.f, found, before, after, int(change.max()), options.quiet)


def _names(metrics: str) -> list[str]:
    if metrics != "quick":
        return [name.strip() for name in metrics.split(",")]
    from unbraid.metrics import METRICS

    quick = (entry.name for entry in METRICS.values() if entry.usual and entry.needs in _FROM_ARRAYS)
    return [name for name in quick if name not in _SLOW]


def _bounded(before: dict[str, Score], after: dict[str, Score]) -> dict[str, tuple[float, float]]:
    """Values before and after of the scores that lie between 0 and 1."""
    from unbraid.metrics import METRICS

    return {name: (float(before[name]), float(after[name])) for name in before if METRICS[name].range == (0.0, 1.0)}


def _tell(
    title: str,
    f: Bijection,
    found: Check,
    before: dict[str, Score],
    after: dict[str, Score],
    change: int | None,
    quiet: bool,
) -> dict[str, Any]:
    """Print the findings unless quiet; return them as plain data."""
    if not quiet:
        _print(title, found, before, after, change)
    result = {
        "about": title,
        "matrix": f.matrix.tolist(),
        "check": found.to_json(),
        "scores": {name: {"before": float(before[name]), "after": float(after[name])} for name in before},
    }
    return result if change is None else {**result, "largest_pixel_change": change}


def _print(title: str, found: Check, before: dict[str, Score], after: dict[str, Score], change: int | None) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"\n[bold]{title}[/]")
    facts = Table(box=None, pad_edge=False, show_header=False)
    facts.add_column()
    facts.add_column(justify="right")
    facts.add_column(style="dim")
    worst = int(found.ks.argmax())
    facts.add_row("distance to its law, worst dimension, before", f"{found.ks_before.max():.4f}", "Kolmogorov-Smirnov")
    facts.add_row("the same after", f"{found.ks[worst]:.4f}", f"p = {found.p_values[worst]:.3g}")
    facts.add_row("largest correlation of two outputs", f"{found.correlation:.4f}", "")
    facts.add_row("total correlation before", f"{found.total_correlation_before:.4f}", "nats")
    facts.add_row("total correlation after", f"{found.total_correlation:.4f}", "nats")
    facts.add_row("smallest |df_i / du_j|", f"{found.smallest_derivative:.2e}", "above 0: everything mixes")
    facts.add_row("median |df_i / du_j|", f"{found.median_derivative:.3f}", "")
    facts.add_row("largest error of the inverse", f"{found.inverse_error:.1e}", "")
    if change is not None:
        facts.add_row("largest change of a reconstructed pixel", f"{change}", "of 255")
    console.print(facts)
    if not found.independent:
        console.print("[yellow]The codes depend on each other: the prior is kept, the law of these codes is not.[/]")
    if not before:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column, side in (("score", "left"), ("before", "right"), ("after", "right")):
        table.add_column(column, justify=side)  # type: ignore[arg-type]
    for name in before:
        table.add_row(name, f"{float(before[name]):.3f}", f"{float(after[name]):.3f}")
    console.print()
    console.print(table)

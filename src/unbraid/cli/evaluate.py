"""unbraid evaluate RUN..."""

from __future__ import annotations

import json as json_module
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from unbraid.errors import UsageError
from unbraid.progress import Progress, ProgressKind

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.evaluation import Summary
    from unbraid.metrics import Score
    from unbraid.training import Run

__all__ = ["evaluate_command"]

MATRICES = {"information (nats)": ("mig", "information"), "importance (boosted trees)": ("dci", "importance")}
"""Title, score and part of the matrices that are drawn."""
_GIVE_FACTORS = "put an array 'factors' [n, K] beside the images of an npz file, or name other data by --data."


def evaluate_command(
    runs: Positional[tuple[Path, ...]] = (),
    *,
    codes: Annotated[Path | None, arg(metavar="PATH")] = None,
    metrics: str = "all",
    representation: Literal["mean", "sampled"] = "mean",
    train: int = 10_000,
    test: int = 5_000,
    points: Annotated[int | None, arg(metavar="INT")] = None,
    data: Annotated[str | None, arg(metavar="STR")] = None,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Measure runs: reconstruction, KL and active latents, and every disentanglement score its data allows.

    Without factors these are the scores of the codes alone.

    Writes scores.json and factors.png (which code knows which factor) into each run folder.

    Args:
        runs: Folders of runs.
        codes: Score codes from anywhere instead: an npz file with codes [n, d] and, for most scores, factors [n, K].
        metrics: all, none, or names separated by commas (unbraid evaluate --metrics help lists them).
        representation: The mean code, or one drawn from the posterior.
        train: Points that estimators are fitted on.
        test: Points that they are judged on.
        points: Training groups of the two interventional scores, 64 images each and half as many again to test
            (otherwise as many as train and test: the study's setting, which encodes nearly the whole data set).
        data: Data set to measure on (otherwise the one it was trained on).
        seed: Decides which points are drawn.
        json: Print the result as JSON.
    """
    if metrics == "help":
        _print_metrics()
        return
    names = metrics if metrics in ("all", "none") else [name.strip() for name in metrics.split(",")]
    if codes is not None:
        if runs:
            raise UsageError("give runs or --codes, not both")
        _score_file(codes, names, seed, json)
        return
    if not runs:
        raise UsageError("give at least one run folder, or --codes FILE.npz")
    results = []
    for path in runs:
        groups = None if points is None else (points, max(points // 2, 2))
        results.append(_evaluate_run(path, names, representation, train, test, groups, data, seed, json))
    if json:
        print(json_module.dumps(results if len(results) > 1 else results[0], allow_nan=False))


def _evaluate_run(
    path: Path,
    names: Any,
    representation: Literal["mean", "sampled"],
    train: int,
    test: int,
    points: tuple[int, int] | None,
    data: str | None,
    seed: int,
    quiet: bool,
) -> dict[str, Any]:
    from unbraid.data import load
    from unbraid.evaluation import summarise
    from unbraid.files import write_json
    from unbraid.metrics import evaluate, has_no_factors
    from unbraid.report.matrix import save_matrices
    from unbraid.training import open_run

    run = open_run(path)
    dataset = load(data) if data else run.data()
    summary = summarise(run, dataset, seed=seed)
    scores: dict[str, Score] = {}
    if names != "none":
        with _status(quiet) as say:
            scores = evaluate(
                run,
                dataset,
                metrics=names,
                representation=representation,
                train=train,
                test=test,
                points=points,
                seed=seed,
                progress=say,
            )
    result = {
        "run": str(path),
        "step": run.info["step"],
        "representation": representation,
        "data": dataset.name,
        "seed": seed,
        "summary": summary.to_json(),
        "scores": {name: score.to_json() for name, score in scores.items()},
    }
    write_json(path / "scores.json", result)
    left_out = names == "all" and has_no_factors(dataset)
    if not quiet:
        _print_summary(run, dataset, summary)
        _print_scores(scores)
        if left_out:
            others = "The other scores" if scores else "Scores"
            print(f"{others} need factors, and {dataset.name} has none that vary: {_GIVE_FACTORS}")
        print(f"wrote {path / 'scores.json'}")
    matrices = {title: scores[name].parts[part] for title, (name, part) in MATRICES.items() if name in scores}
    if matrices and dataset.has_factors:
        save_matrices(matrices, dataset.factor_names, path / "factors.png", summary.kl_per_latent)
        if not quiet:
            print(f"wrote {path / 'factors.png'}")
    return result


@contextmanager
def _status(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Say what is being computed: one changing line on a terminal, nothing elsewhere."""
    import sys

    kind: ProgressKind = "none" if quiet or not sys.stderr.isatty() else "bar"
    with Progress("evaluating", kind=kind, brief=True) as progress:
        yield lambda text: progress.update(note=text)


def _score_file(path: Path, names: Any, seed: int, json: bool) -> None:
    from unbraid.data.files.npz import array_names, read_array
    from unbraid.metrics import score_codes

    codes = read_array(path, "codes")
    factors = read_array(path, "factors") if "factors" in array_names(path) else None
    scores = score_codes(codes, factors, metrics=names, seed=seed)
    if json:
        print(json_module.dumps({name: score.to_json() for name, score in scores.items()}, allow_nan=False))
        return
    _print_scores(scores)
    if names == "all" and factors is None:
        print(f"The other scores need factors: put an array 'factors' [n, K] into {path}.")


def _print_summary(run: Run, dataset: ImageDataset, summary: Summary) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"\n[bold]{run.path}[/]  {run.objective.name} on {dataset.name}, step {run.info['step']:,}")
    table = Table(box=None, pad_edge=False)
    for column in ("reconstruction", "KL", "ELBO", "active latents"):
        table.add_column(column, justify="right")
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


def _print_scores(scores: dict[str, Score]) -> None:
    from rich.console import Console
    from rich.table import Table

    if not scores:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column, side in (("score", "left"), ("value", "right"), ("ceiling", "right"), ("seconds", "right")):
        table.add_column(column, justify=side)  # type: ignore[arg-type]
    for name, score in scores.items():
        seconds = score.settings.get("seconds")
        table.add_row(
            name,
            f"{score.value:.3f}",
            "-" if score.ceiling is None or math.isnan(score.ceiling) else f"{score.ceiling:.3f}",
            "-" if seconds is None else f"{seconds:.2f}",
        )
    console = Console()
    console.print()
    console.print(table)


def _print_metrics() -> None:
    from rich.console import Console
    from rich.table import Table

    from unbraid.metrics import METRICS

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("score")
    table.add_column("what it says")
    for name, entry in METRICS.items():
        table.add_row(name, entry.about)
    Console().print(table)

"""The sub-command ``unbraid data transitions``."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from unbraid.errors import UsageError

if TYPE_CHECKING:
    from unbraid.data import Dataset, Tracks
    from unbraid.data.motion import Dependence, TransitionFit

__all__ = ["data_transitions"]


def data_transitions(
    name: Positional[str],
    *,
    gaps: str = "1,2,5,10,20,40",
    pairs: int = 100_000,
    protocol: str = "lap",
    rate: float = 1.0,
    seed: int = 0,
    out: Annotated[Path | None, arg(metavar="PATH")] = None,
    json: bool = False,
) -> None:
    """How the factors of a data set move from one image to the next.

    For tracks of measured objects (`pedestrians`, `natural-sprites`, `kitti-masks`, a CSV table of measurements): the
    fitted shape and scale of the steps per factor and frame gap, the likelihoods of the generalized Laplace, Laplace
    and normal laws, and the dependence between factors beside that of the permuted control. For factor grids: how
    often each factor changes under a protocol, measured and exact.

    Examples: `unbraid data transitions pedestrians --out moves`, `unbraid data transitions dsprites --protocol uni`,
    `unbraid data transitions my_tracks.csv`.

    Args:
        name: A name from `unbraid data list`, or a CSV file with the columns track, frame, x, y, area.
        gaps: Largest distances of a pair in frames, separated by commas; one fit each.
        pairs: Pairs drawn at most for each fit, or for a grid.
        protocol: For grids: uni, lap or lap-nc.
        rate: Rate of lap: higher moves less.
        seed: Decides which pairs are drawn.
        out: Folder for plots, a sheet of pairs and a short film.
        json: Print JSON instead of tables.
    """
    from unbraid.data import load

    if pairs < 5000:
        raise UsageError(f"pairs must be at least 5000 for a fit worth reading, got {pairs}")
    if name.endswith(".csv"):
        from unbraid.data.files import read_measurements

        result = _of_tracks(Path(name).stem, read_measurements(name), None, _numbers(gaps), pairs, seed, out, json)
    else:
        dataset = load(name)
        tracks = getattr(dataset, "tracks", None)
        if tracks is not None:
            result = _of_tracks(dataset.name, tracks, dataset, _numbers(gaps), pairs, seed, out, json)
        elif dataset.space is not None:
            result = _of_grid(dataset, protocol, rate, pairs, seed, out, json)
        else:
            raise UsageError(f"data set {dataset.name!r} has neither tracks nor a factor grid, so nothing moves in it")
    if json:
        print(json_module.dumps(result, indent=2))


def _numbers(gaps: str) -> list[int]:
    try:
        found = sorted({int(part) for part in gaps.split(",")})
    except ValueError as error:
        raise UsageError(f"gaps must be whole numbers separated by commas, got {gaps!r}") from error
    if found[0] < 1:
        raise UsageError(f"gaps must be at least 1 frame, got {found[0]}")
    return found


def _of_tracks(
    name: str, tracks: Tracks, dataset: Any, gaps: list[int], pairs: int, seed: int, out: Path | None, quiet: bool
) -> dict[str, Any]:
    import numpy as np

    from unbraid.data.motion import dependence, fit_transitions

    gaps = [gap for gap in gaps if gap == gaps[0] or gap < tracks.lengths.max()]
    fits = fit_transitions(tracks, gaps, pairs=pairs, seed=seed)
    increments = tracks.increments()
    joint = control = None
    if len(increments) >= 5000 and len(tracks.names) > 1:
        joint = dependence(increments, tracks.names)
        control = dependence(tracks.permuted(np.random.default_rng(seed)).increments(), tracks.names)
    files: list[Path] = []
    if out is not None:
        from unbraid.report import draw_dependence, draw_fits, draw_gaps, film, pair_sheet

        files = [draw_fits(tracks, fits, out / "steps.png")]
        if len(gaps) > 1:
            files.append(draw_gaps(fits, out / "gaps.png"))
        if joint is not None:
            files.append(draw_dependence(tracks, out / "dependence.png", seed=seed))
        if dataset is not None:
            files += [pair_sheet(dataset, out / "pairs.png", seed=seed), film(dataset, out / "film.gif", seed=seed)]
    if not quiet:
        _print_fits(f"{name}: {len(tracks):,} frames on {len(tracks.lengths):,} tracks", fits)
        if joint is not None and control is not None:
            _print_dependence(joint, control)
        for file in files:
            print(f"wrote {file}")
    return {
        "data": name,
        "stands_in_for": dataset.card.stands_in_for if dataset is not None else "",
        "frames": len(tracks),
        "tracks": len(tracks.lengths),
        "fits": [fit.to_json() for fit in fits],
        "dependence": None if joint is None else joint.to_json(),
        "permuted": None if control is None else control.to_json(),
        "files": [str(file) for file in files],
    }


def _of_grid(
    dataset: Dataset, protocol: str, rate: float, pairs: int, seed: int, out: Path | None, quiet: bool
) -> dict[str, Any]:
    import numpy as np

    from unbraid.data import PairStream, counter_rng

    law = PairStream(dataset, 1, seed, protocol=protocol, rate=rate).protocol
    assert law is not None
    first, second = law.pairs(pairs, counter_rng(seed, 0))
    changed = first != second
    counts = np.bincount(changed.sum(axis=1), minlength=len(dataset.factor_names) + 1) / pairs
    exact = law.change_probabilities()
    result: dict[str, Any] = {
        "data": dataset.name,
        "protocol": protocol,
        "pairs": pairs,
        "mean_changes": {"measured": float(changed.sum(axis=1).mean()), "exact": law.expected_changes()},
        "change_counts": {"measured": counts.tolist(), "exact": law.change_counts().tolist()},
        "factors": [
            {
                "factor": factor,
                "measured": float(changed[:, k].mean()),
                "exact": float(exact[k]),
                "mean_step": float(np.abs(second - first)[:, k].mean()),
            }
            for k, factor in enumerate(dataset.factor_names)
        ],
        "files": [],
    }
    if out is not None:
        from unbraid.report import film, pair_sheet

        options = f"protocol={protocol}" + (f",rate={rate}" if protocol != "uni" else "")
        files = [
            pair_sheet(dataset, out / "pairs.png", stream=f"pairs:{options}", seed=seed),
            film(dataset, out / "film.gif", stream=f"sequences:{options}", seed=seed),
        ]
        result["files"] = [str(file) for file in files]
    if not quiet:
        _print_grid(result)
    return result


FEW = 500
"""Pairs below which a fitted shape is mostly chance."""


def _print_fits(title: str, fits: list[TransitionFit]) -> None:
    table = _table(title, ("factor", "gap", "pairs", "α", "scale", "deviation", "kurtosis", "gen. Laplace", "Laplace"))
    table.add_column("normal", justify="right")
    for fit in fits:
        table.add_row(
            fit.factor,
            f"1..{fit.max_gap}" if fit.max_gap > 1 else "1",
            f"{fit.pairs:,}",
            f"{fit.general.alpha:.3f}",
            f"{fit.general.scale:.3g}",
            f"{fit.deviation:.3g}",
            f"{fit.kurtosis:.1f}",
            *(f"{fit.log_likelihood[law] / fit.pairs:.3f}" for law in ("general", "laplace", "normal")),
        )
    note = "The last three columns are log-likelihoods per pair; α is 1 for Laplace, 2 for normal."
    few = min(fit.pairs for fit in fits)
    _show(table, note if few >= FEW else f"{note}\nA fit to {few} pairs says little: give more frames.")


def _print_dependence(joint: Dependence, control: Dependence) -> None:
    table = _table(
        "Dependence of the steps between neighbouring frames",
        ("factors", "r", "r of sizes", "nats", "permuted: r", "r of sizes", "nats"),
    )
    for i, first in enumerate(joint.names):
        for j, second in enumerate(joint.names[:i]):
            row = [
                f"{matrix[i, j]:.3f}"
                for each in (joint, control)
                for matrix in (each.correlation, each.size_correlation, each.information)
            ]
            table.add_row(f"{second}, {first}", *row)
    _show(table)


def _print_grid(result: dict[str, Any]) -> None:
    title = f"{result['data']} under {result['protocol']}: {result['pairs']:,} pairs"
    table = _table(title, ("factor", "changes", "exactly", "mean step"))
    for row in result["factors"]:
        values = (f"{row[key]:.4f}" for key in ("measured", "exact", "mean_step"))
        table.add_row(row["factor"], *values)
    mean = result["mean_changes"]
    table.add_row("factors changed", f"{mean['measured']:.4f}", f"{mean['exact']:.4f}", "")
    _show(table)
    for file in result["files"]:
        print(f"wrote {file}")


def _table(title: str, headings: tuple[str, ...]) -> Any:
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="dim")
    for position, heading in enumerate(headings):
        table.add_column(heading, justify="right" if position else "left")
    return table


def _show(table: Any, note: str = "") -> None:
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=140)
    console.print(table)
    console.print(note, style="dim")

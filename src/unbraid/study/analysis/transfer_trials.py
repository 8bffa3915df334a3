"""Question 4, put to the test: take the best setting from one place and use it in another (section 5.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unbraid.errors import UsageError
from unbraid.study.analysis._style import GRID, INK, PALETTE, new_figure, styled
from unbraid.study.analysis._table import METRICS, SETTING, rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_transfer_trials", "transfer_trials"]

CELLS = (("same", "same"), ("same", "other"), ("other", "same"), ("other", "other"))
"""Metric and data set of the target, as seen from the source."""


def transfer_trials(
    table: pl.DataFrame,
    *,
    metrics: Sequence[str] = METRICS,
    trials: int = 10_000,
    seed: int = 0,
    representation: str = "mean",
) -> pl.DataFrame:
    """How often the best setting of a source beats a random setting at a target, in percent.

    A trial draws a data set, a metric and a seed and takes the setting with the best score there (drawing among ties).
    It then draws a target (the same or another metric, the same or another data set), another seed and a random
    setting, and succeeds if the taken setting scores at least as high as the random one. Since the random setting is
    the taken one once in ``settings`` times, and a tie counts, choosing blindly succeeds in
    ``chance = 50 + 50 / settings`` percent of trials, not in half.

    A row per cell; ``percent`` is null where the table cannot answer (one data set, one metric, one seed). Runs that
    are missing are passed over, and ``chance`` follows the settings that are there.
    """
    if trials < 1:
        raise UsageError(f"trials must be at least 1, got {trials}")
    rows = rows_of(table, metrics, representation=representation)
    scores = _cube(rows, metrics)
    rng = np.random.default_rng(seed)
    parts = []
    for metric, data in CELLS:
        wins, settings = _play(scores, metric == "same", data == "same", trials, rng)
        known = len(wins) > 0
        parts.append(
            {
                "metric": metric,
                "data": data,
                "percent": 100 * float(wins.mean()) if known else None,
                "chance": 50 + 50 * float((1 / settings).mean()) if known else None,
                "settings": float(settings.mean()) if known else None,
                "trials": len(wins),
            }
        )
    kinds = {"percent": pl.Float64, "chance": pl.Float64, "settings": pl.Float64}
    return pl.DataFrame(parts, schema_overrides=kinds)


def _cube(rows: pl.DataFrame, metrics: Sequence[str]) -> np.ndarray:
    """Scores ``[data, metric, seed, setting]``, NaN where a run is missing."""
    places = rows.select(
        pl.col("data").rank("dense").cast(pl.Int64) - 1,
        pl.col("seed").rank("dense").cast(pl.Int64) - 1,
        pl.struct(SETTING).rank("dense").cast(pl.Int64).alias("setting") - 1,
    ).to_numpy()
    sizes = places.max(axis=0) + 1
    cube = np.full((sizes[0], len(metrics), sizes[1], sizes[2]), np.nan)
    cube[places[:, 0], :, places[:, 1], places[:, 2]] = rows.select(metrics).to_numpy().astype(float)
    return cube


def _play(
    scores: np.ndarray, same_metric: bool, same_data: bool, trials: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes of the trials of one cell, and how many settings each had to choose from; none if it has no trial."""
    sets, metrics, seeds, _ = scores.shape
    if seeds < 2 or (sets < 2 and not same_data) or (metrics < 2 and not same_metric):
        return np.zeros(0, bool), np.ones(0)
    present = ~np.isnan(scores)
    # Sources need a choice; a target is usable if it has the taken setting, so draw until enough trials are.
    sources = np.argwhere(present.sum(axis=3) > 1)
    if not len(sources):
        return np.zeros(0, bool), np.ones(0)
    wins: list[np.ndarray] = []
    counts: list[np.ndarray] = []
    found = 0
    for _ in range(50):
        data, metric, seed = sources[rng.integers(len(sources), size=trials)].T
        here = scores[data, metric, seed]  # [trials, settings]
        best = here == np.nanmax(here, axis=1, keepdims=True)
        taken = np.argmax(best * (1 + rng.random(best.shape)), axis=1)
        target = (
            data if same_data else _another(data, sets, rng),
            metric if same_metric else _another(metric, metrics, rng),
            _another(seed, seeds, rng),
        )
        there, known = scores[target], present[target]
        blind = np.argmax(known * (1 + rng.random(known.shape)), axis=1)
        row = np.arange(trials)
        usable = known[row, taken] & known[row, blind]
        wins.append((there[row, taken] >= there[row, blind])[usable])
        counts.append(known.sum(axis=1)[usable])
        found += int(usable.sum())
        if found >= trials:
            break
    return np.concatenate(wins)[:trials], np.concatenate(counts)[:trials].astype(float)


def _another(drawn: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """For each number below ``size`` a different one, all equally likely."""
    return (drawn + rng.integers(1, size, size=drawn.shape)) % size


@styled
def plot_transfer_trials(results: pl.DataFrame, *, published: pl.DataFrame | None = None) -> Figure:
    """Points of :func:`transfer_trials` with the chance level of each cell, and published values as diamonds."""
    figure, axes = new_figure(1, 1, 4.6, 2.2)
    axis = axes[0, 0]
    names = [f"{metric} metric,\n{data} data set" for metric, data in results.select("metric", "data").iter_rows()]
    y = np.arange(len(names))[::-1]
    percent, chance = (results[column].cast(pl.Float64).to_numpy().astype(float) for column in ("percent", "chance"))
    axis.hlines(y, chance, percent, color=PALETTE[0], linewidth=2)
    axis.scatter(percent, y, s=42, color=PALETTE[0], label="measured", zorder=3)
    axis.scatter(chance, y, s=90, marker="|", color=INK, label="chance", zorder=3)
    if published is not None:
        cells = {tuple(cell): value for *cell, value in published.select("metric", "data", "percent").iter_rows()}
        known = np.array([cells.get(cell, np.nan) for cell in results.select("metric", "data").iter_rows()])
        axis.scatter(known, y, s=30, marker="D", color="white", edgecolors=INK, label="published", zorder=2)
    axis.set_yticks(y, names)
    axis.set_ylim(-0.6, len(names) - 0.4)
    axis.set_xlim(min(45.0, *np.nan_to_num(percent, nan=45.0) - 3), 102)
    axis.set_xlabel("best setting of the source beats a random one (%)")
    axis.grid(axis="x", color=GRID)
    figure.legend(loc="outside right upper")
    return figure

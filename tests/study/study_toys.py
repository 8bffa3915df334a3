"""Synthetic tables of a study: scores made from effects one knows."""

from __future__ import annotations

import numpy as np
import polars as pl

from unbraid.study.analysis import METRICS
from unbraid.study.published import load

DATA = ("dsprites", "color-dsprites", "noisy-dsprites", "scream-dsprites", "smallnorb", "cars3d", "shapes3d")


def settings() -> list[tuple[str, str, float]]:
    """The 36 settings of the study."""
    return list(load("sweep").iter_rows())


def grid(data=DATA, seeds: int = 50, representations=("mean",)) -> pl.DataFrame:
    """The rows of a study without any result."""
    rows = [
        (name, *setting, seed, kind)
        for name in data
        for setting in settings()
        for seed in range(seeds)
        for kind in representations
    ]
    columns = ["data", "objective", "strength_name", "strength", "seed", "representation"]
    return pl.DataFrame(rows, schema=columns, orient="row").with_row_index("index")


def noise_table(seed: int = 0, **axes) -> pl.DataFrame:
    """Scores that are nothing but noise."""
    table = grid(**axes)
    rng = np.random.default_rng(seed)
    return table.with_columns([pl.Series(metric, rng.standard_normal(len(table))) for metric in METRICS])


def full_table(seed: int = 0, data=("sprites32", "rooms3d-32"), seeds: int = 5) -> pl.DataFrame:
    """A study that looks like one: all columns, effects of objective and strength, both representations."""
    table = grid(data=data, seeds=seeds, representations=("mean", "sampled"))
    rng = np.random.default_rng(seed)
    steps = table.select((pl.col("strength").rank("dense").over("objective") - 1) / 5)
    rank = steps.to_series().to_numpy()
    objective = table["objective"].rank("dense").to_numpy() / 6
    quality = 0.4 + 0.2 * np.sin(3 * objective) + 0.15 * rank
    luck = rng.standard_normal(len(table) // 2).repeat(2)
    columns = {}
    for position, metric in enumerate(METRICS):
        share = -0.3 if metric == "modularity" else 1 - 0.1 * position
        columns[metric] = quality * share + 0.07 * luck * share + 0.05 * rng.standard_normal(len(table)) + 0.3
    sampled = (table["representation"] == "sampled").to_numpy()
    columns["gaussian_total_correlation"] = np.exp(np.where(sampled, -3 * rank, 1.2 * rank) + 0.3 * luck - objective)
    columns["pairwise_mutual_information"] = columns["gaussian_total_correlation"] / 20
    columns["reconstruction"] = 60 + 20 * rank + 3 * luck
    columns["kl"] = 30 - 20 * rank + luck
    columns["elbo"] = -columns["reconstruction"] - columns["kl"]
    columns["regularizer"] = columns["kl"] * (1 + 5 * rank)
    columns["udr"] = 0.3 + 0.1 * rng.standard_normal(len(table))
    for learner in ("lr", "gbt"):
        for power in (1, 2, 3, 4):
            noise = 0.03 * rng.standard_normal(len(table))
            columns[f"{learner}_{10**power}"] = 0.15 * power + 0.2 * quality + noise
        columns[f"{learner}_efficiency"] = columns[f"{learner}_100"] / columns[f"{learner}_10000"]
    return table.with_columns(**{name: pl.Series(values) for name, values in columns.items()})

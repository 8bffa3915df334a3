"""Any way of making a model through the benchmark, without the study runner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from unbraid.data import SPLITS, Dataset, load, split
from unbraid.errors import UsageError, unknown_name
from unbraid.files import make_folders
from unbraid.generalization import evaluate, write_predictions
from unbraid.paths import user_path
from unbraid.study.generalization.models import Model
from unbraid.study.generalization.results import Benchmark
from unbraid.study.generalization.tables import tabulate
from unbraid.study.generalization.trained import Trained

__all__ = ["benchmark"]

Maker = Callable[[Dataset, int], Any]
"""From the images to train on and a seed to what can be asked: a run, a torch module, or a function of images."""


def benchmark(
    models: Mapping[str, Maker],
    data: str | Dataset,
    *,
    out: str | Path,
    splits: Sequence[str] = SPLITS,
    seeds: int = 3,
    images: int = 10_000,
    one_ood: int = 200,
) -> Benchmark:
    """Make every model on the training side of every split with every seed, and ask it about the rest.

    A maker gets the images to train on and a seed, and returns a run that predicts factors, a torch module, or a
    function from uint8 images ``[n, h, w, c]`` to scaled factors ``[n, K]`` (:func:`unbraid.generalization.targets`).
    What it said lies in ``out``, a Parquet file each; a folder that holds such files is refused.
    At most ``images`` of a test side are asked about.
    """
    if not models:
        raise UsageError("models is empty; give a mapping from names to functions (train, seed) -> model")
    if seeds < 1:
        raise UsageError(f"seeds must be at least 1, got {seeds}")
    for kind in splits:
        if kind not in SPLITS:
            raise unknown_name("split", kind, SPLITS)
    whole = load(data) if isinstance(data, str) else data
    name = data if isinstance(data, str) else whole.name
    folder = user_path(out, "folder of a benchmark")
    if earlier := min(folder.glob("*.parquet"), default=None):
        raise UsageError(
            f"out: {folder} holds what other models said ({earlier.name}); choose another folder, or empty it"
        )
    make_folders(folder)
    runs: list[Trained] = []
    for kind in splits:
        halves = split(whole, kind)
        for model, make in models.items():
            for seed in range(seeds):
                made = make(halves.train, seed)
                answers = evaluate(made, whole, halves, images=images, one_ood=one_ood)
                path = folder / f"{len(runs):05d}.parquet"
                write_predictions(path, answers, {"model": model, "seed": seed})
                runs.append(Trained(len(runs), name, kind, Model(model, "supervised"), None, seed, path))
    return tabulate(folder.name, runs)

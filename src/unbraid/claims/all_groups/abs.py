"""Analysis by synthesis on digits: class-wise VAEs of both likelihoods, networks beside them, and corruptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from unbraid.claims.all_groups._synthesis import (
    NETWORKS,
    TEST,
    calibrated,
    digits,
    distances,
    run_of,
    tried,
)
from unbraid.claims.cells import CellGroup, Work
from unbraid.claims.group import Recipe, fresh
from unbraid.claims.studies import StudyGroup

__all__ = ["BERNOULLI", "CORRUPTED", "MODELS"]

_HERE = "unbraid.claims.all_groups.abs"


def _models(steps: int, samples: int, iterations: int, images: int) -> dict[str, Any]:
    nets = "".join(
        f'[[objectives.classifier]]\nnet = "{net}"\nlearning_rate = 1e-3\nsteps = {steps}\nbatch_size = 100\n'
        for net in NETWORKS.values()
    )
    return {
        "study": f"""\
data = ["mnist"]
steps = {steps}
batch_size = 64
[objectives.abs]
anneal_steps = {max(1, steps // 2)}
samples = {samples}
iterations = {iterations}
{nets}
[measures.accuracy]
images = {images}
data = ["{TEST}"]
"""
    }


def _accurate(table: pl.DataFrame) -> list[str]:
    found = []
    for objective, least in (("abs", 0.93), ("classifier", 0.94)):
        low = table.filter((pl.col("objective") == objective) & (pl.col("accuracy") < least))
        found += [
            f"{objective} of seed {seed} names {100 * share:.1f} % of clean digits, below {100 * least:g} %"
            for seed, share in low.select("seed", "accuracy").rows()
        ]
    return found


MODELS = StudyGroup(
    "abs-models",
    "class-wise VAEs, a CNN, a CNN of thresholded digits, and a substitute for attacks that transfer",
    {
        "smoke": Recipe("MNIST, 3 steps", _models(3, 10, 2, 20), fresh(1), 0.5, ("mnist",)),
        "small": Recipe(
            "MNIST, 1,000 of 29,000 steps, searches of 1,000 starts and 30 passes",
            _models(1000, 1000, 30, 500),
            fresh(3),
            36,
            ("mnist",),
            steps=1000,
        ),
        "paper": Recipe(
            "MNIST, 29,000 steps",
            _models(29_000, 8000, 50, 10_000),
            fresh(3),
            3 * 900,
            ("mnist",),
            steps=29_000,
            unit="GPU",
        ),
    },
    gate=_accurate,
)


def bernoulli(
    seed: int,
    steps: int,
    samples: int,
    iterations: int,
    images: int,
    few: int,
    smoke: bool = False,
    *,
    place: Path,
    needed: Mapping[str, str],
) -> list[dict[str, Any]]:
    """An ABS model with a Bernoulli likelihood, attacked as the Gaussian one is."""
    from unbraid.data import load
    from unbraid.objectives import make
    from unbraid.training import train

    options = {
        "likelihood": "bernoulli",
        "anneal_steps": max(1, steps // 2),
        "samples": samples,
        "iterations": iterations,
    }
    run = train(
        make("abs", options),
        load("mnist"),
        out=place / str(seed),
        steps=steps,
        seed=seed,
        batch_size=64,
        progress="none",
    )
    if not run.finished:
        raise KeyboardInterrupt
    rows = distances(run, "abs", "l2", seed, images, few, tried("l2", "abs", smoke), needed)
    return [{**row, "model": "abs-bernoulli", "norm": "l2"} for row in rows]


def _bernoulli(plan: Mapping[str, Any], seeds: Sequence[int]) -> list[Work]:
    return [
        Work(
            f"seed-{seed}", {"seed": seed}, function=f"{_HERE}:bernoulli", arguments={**plan, "seed": seed}, trains=True
        )
        for seed in seeds
    ]


BERNOULLI = CellGroup(
    "abs-bernoulli",
    "class-wise VAEs with a Bernoulli likelihood",
    {
        "smoke": Recipe(
            "MNIST, 3 steps",
            {"steps": 3, "samples": 10, "iterations": 2, "images": 2, "few": 2, "smoke": True},
            fresh(1),
            0.5,
            ("mnist",),
        ),
        "small": Recipe(
            "MNIST, 1,000 of 29,000 steps, 20 digits",
            {"steps": 1000, "samples": 1000, "iterations": 30, "images": 20, "few": 15},
            fresh(3),
            60,
            ("mnist",),
        ),
        "paper": Recipe(
            "MNIST, 29,000 steps, 1,000 digits",
            {"steps": 29_000, "samples": 8000, "iterations": 50, "images": 1000, "few": 25},
            fresh(3),
            15_000,
            ("mnist",),
            unit="GPU",
        ),
    },
    needs=("abs-models",),
    work=_bernoulli,
)


def corrupted(
    model: str, seed: int, images: int, held: int, suite: Sequence[str], *, needed: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Accuracy and sureness under corruptions."""
    from unbraid.corruptions import MNIST_C, corrupt
    from unbraid.robustness.synthesis import posterior

    run = run_of(needed, model, seed)
    calibration = calibrated(run, held, seed)
    pixels, labels, _ = digits(images, seed)
    rows = []
    for name in suite or MNIST_C:
        spoiled = corrupt(pixels, name, severity=MNIST_C[name].severities[0], seed=seed)
        chances = posterior(run.predict(spoiled), calibration)
        top, right = chances.max(axis=1), chances.argmax(axis=1) == labels
        wrong = float((top[~right] > 0.5).mean()) if (~right).any() else 0.0
        rows.append(
            {
                "corruption": name,
                "accuracy": float(right.mean()),
                "unsure": float((top <= 0.2).mean()),
                "sure_and_wrong": wrong,
            }
        )
    return rows


def _corrupted(plan: Mapping[str, Any], seeds: Sequence[int]) -> list[Work]:
    return [
        Work(
            f"{model}-{seed}",
            {"model": model, "seed": seed},
            function=f"{_HERE}:corrupted",
            arguments={**plan, "model": model, "seed": seed},
        )
        for seed in seeds
        for model in ("abs", "cnn")
    ]


CORRUPTED = CellGroup(
    "abs-corruptions",
    "ABS and a CNN under corruptions",
    {
        "smoke": Recipe(
            "MNIST, 2 corruptions of 10 digits",
            {"images": 10, "held": 20, "suite": ["fog", "brightness"]},
            fresh(1),
            0.3,
            ("mnist",),
        ),
        "small": Recipe(
            "MNIST, 15 corruptions of 60 digits", {"images": 60, "held": 500, "suite": []}, fresh(3), 8, ("mnist",)
        ),
        "paper": Recipe(
            "MNIST, 15 corruptions of 10,000 digits",
            {"images": 10_000, "held": 5000, "suite": []},
            fresh(3),
            4000,
            ("mnist",),
            unit="GPU",
        ),
    },
    needs=("abs-models",),
    work=_corrupted,
)

"""Bijective classifiers: spheres, redundant numbers, digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from unbraid.claims.cells import CellGroup, Work
from unbraid.claims.group import Recipe, fresh
from unbraid.claims.studies import StudyGroup

__all__ = ["DIGITS", "SPHERES", "TOY"]

_HERE = "unbraid.claims.all_groups.invariance"


def spheres(
    seed: int, samples: int, steps: int, width: int, reader_width: int, metamers: int, planes: int, *, place: Path
) -> list[dict[str, Any]]:
    """A bijective classifier of two spheres: what logits and nuisances know, and inner points that cross over."""
    import numpy as np

    from unbraid.data import Spheres
    from unbraid.invariance import (
        as_bijective,
        decision_plane,
        draw_inputs,
        halves,
        on_sphere_metamer,
        outputs_of,
        train_nuisance,
    )
    from unbraid.objectives import make
    from unbraid.training import train

    radii = (1.0, 10.0)
    net = {"net": f"fc:width={width}", "optimizer": "adam", "learning_rate": 1e-3}
    run = train(
        make("firevnet", net),
        Spheres(images=samples, seed=seed),
        out=place / str(seed),
        steps=steps,
        seed=seed,
        batch_size=128,
        precision="fp32",
        progress="none",
    )
    if not run.finished:
        raise KeyboardInterrupt
    test = Spheres(images=max(4 * metamers, 2000), seed=seed + 10_000)
    x, labels = draw_inputs(run, test, len(test), seed)
    flow = as_bijective(run)
    logits = flow.split(outputs_of(flow, x))[0]
    left = train_nuisance(run, *halves(x, labels), width=reader_width, depth=3, steps=2000, seed=seed)
    inner, outer = x[labels == 0], x[labels == 1]
    asked = min(metamers, len(inner), len(outer))
    found = on_sphere_metamer(run, inner[:asked], outer[:asked], radii[1], tolerance=1e-4)
    crossed = found.found & (found.residual <= 1e-4 * logits.abs().max().clamp_min(1))
    called = {"metamer": [], "random": []}  # type: dict[str, list[float]]
    for place_, good in enumerate(crossed.tolist()):
        if good and len(called["metamer"]) < planes:
            plane = decision_plane(run, inner[place_], found.x[place_], radii=radii, size=3)
            called["metamer"].append(plane.stats["semantic"].outer_called_inner)
    for place_ in range(min(planes, asked)):
        plane = decision_plane(run, inner[place_], outer[-1 - place_], radii=radii, size=3)
        called["random"].append(plane.stats["semantic"].outer_called_inner)
    means = {f"{kind}_planes": float(np.mean(values)) if values else 0.0 for kind, values in called.items()}
    return [
        {
            "logit_accuracy": float((logits.argmax(1) == labels).double().mean()),
            "nuisance_accuracy": 1 - left.test_error,
            "crossed": int(crossed.sum()),
            "asked": asked,
            **means,
        }
    ]


def _each(function: str) -> Any:
    def work(plan: Mapping[str, Any], seeds: Sequence[int]) -> list[Work]:
        return [
            Work(f"seed-{seed}", {"seed": seed}, 0, 1, f"{_HERE}:{function}", {**plan, "seed": seed}, trains=True)
            for seed in seeds
        ]

    return work


def _sizes(samples: int, steps: int, width: int, reader: int, metamers: int, planes: int) -> dict[str, int]:
    about = {"samples": samples, "steps": steps, "width": width, "reader_width": reader}
    return {**about, "metamers": metamers, "planes": planes}


SPHERES = CellGroup(
    "inv-spheres",
    "bijective classifiers of two spheres in 100 dimensions",
    {
        "smoke": Recipe("spheres, 2,000 samples, 10 steps", _sizes(2000, 10, 16, 32, 20, 2), fresh(1), 0.5),
        "small": Recipe(
            "spheres, 20,000 of 500,000 samples, 470 of 39,062 steps",
            _sizes(20_000, 470, 128, 1000, 500, 20),
            fresh(5),
            10,
            steps=470,
        ),
        "paper": Recipe(
            "spheres, 500,000 samples, 39,062 steps",
            _sizes(500_000, 39_062, 128, 1000, 500, 20),
            fresh(5),
            90,
            steps=39_062,
        ),
    },
    work=_each("spheres"),
)


def toy(seed: int, steps: int, *, place: Path) -> list[dict[str, Any]]:
    """All ways of training on redundant numbers for one seed."""
    from unbraid.invariance import toy_experiment

    return [one.row() for one in toy_experiment(place, seeds=[seed], steps=steps, progress="none")]


TOY = CellGroup(
    "inv-toy",
    "cross-entropy and iCE on redundant numbers",
    {
        "smoke": Recipe("redundant numbers, 5 steps", {"steps": 5}, fresh(1), 0.3),
        "small": Recipe("redundant numbers, 3,000 steps", {"steps": 3000}, fresh(5), 15, steps=3000),
        "paper": Recipe("redundant numbers, 3,000 steps", {"steps": 3000}, fresh(5), 15, steps=3000),
    },
    work=_each("toy"),
)


def _digits(steps: int, train: int, images: int, metamers: int, net: str = "", more: str = "") -> dict[str, str]:
    chosen = f'net = "{net}"\n' if net else ""
    drop = f"drop_at = [{max(1, steps * 17 // 20)}]\n"
    return {
        "study": f"""\
data = ["mnist"]
steps = {steps}
batch_size = 64
[[objectives.firevnet]]
{chosen}{drop}[[objectives.ice]]
after = "firevnet"
parts = ["net"]
{chosen}{drop}cap = true
w_nuisance = [2]
[measures.invariance]
train = {train}
images = {images}
metamers = {metamers}
{more}data = ["mnist:split=test"]
"""
    }


def _accurate(table: pl.DataFrame) -> list[str]:
    low = table.filter(pl.col("logit_test_error") > 0.05)
    return [
        f"{objective} of seed {seed} names {100 * (1 - error):.1f} % of digits, below 95 %"
        for objective, seed, error in low.select("objective", "seed", "logit_test_error").rows()
    ]


DIGITS = StudyGroup(
    "inv-mnist",
    "cross-entropy and iCE on digits",
    {
        "smoke": Recipe(
            "MNIST, 2 steps",
            _digits(2, 100, 50, 10, "conv:stages=2,blocks=1,width=8", "steps = 5\nwidth = 16\nproxy_steps = 2\n"),
            fresh(1),
            0.7,
            ("mnist",),
        ),
        "small": Recipe(
            "MNIST, 2 of 100 epochs", _digits(2000, 20_000, 10_000, 1000), fresh(3), 60, ("mnist",), steps=2000
        ),
        "paper": Recipe(
            "MNIST, 100 epochs, 16 blocks of 128 channels",
            _digits(93_750, 60_000, 10_000, 1000, "conv:stages=3,blocks=16,width=128"),
            fresh(3),
            6 * 3000,
            ("mnist",),
            steps=93_750,
            unit="GPU",
        ),
    },
    gate=_accurate,
)

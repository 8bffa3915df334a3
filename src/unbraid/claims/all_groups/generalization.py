"""Four splits of factor values: networks, read-outs of representations, oracles, and descent through decoders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from unbraid.claims.cells import CellGroup, Work
from unbraid.claims.group import Recipe, fresh
from unbraid.claims.studies import StudyGroup
from unbraid.errors import UsageError

__all__ = ["CNN", "DESCENT", "ORACLE", "OTHER", "REPRESENTATIONS", "ROOMS"]

_HERE = "unbraid.claims.all_groups.generalization"
HARD = ("composition", "extrapolation")
MLP = "mlp:layers=90+90+90+90+45+22"
_SPLITS = 'splits = ["random", "composition", "interpolation", "extrapolation"]\nbatch_size = 64\n'


def _file(data: str, steps: int, objectives: str, measures: str) -> dict[str, str]:
    return {"study": f'data = ["{data}"]\n{_SPLITS}steps = {steps}\n{objectives}\n{measures}'}


def _net(net: str, rate: float, steps: int) -> str:
    return f'[[objectives.regressor]]\nnet = "{net}"\nlearning_rate = {rate}\nsteps = {steps}\n'


_ASKED = '[measures.generalization]\nrecipe = "cpu"\n'
_FEW = '[measures.generalization]\nrecipe = "cpu"\nimages = 100\ntrain_images = 100\none_ood = 100\n'
_DCI = """\
[measures.disentanglement]
metrics = ["dci"]
representations = ["mean"]
train = {}
test = {}
options.dci.stages = 10
"""
SMOKE, SMALL = "mini-sprites", "dsprites-90"


def _random_r2(table: pl.DataFrame) -> list[str]:
    low = table.filter((pl.col("part") == "scores") & (pl.col("split") == "random") & (pl.col("r2") < 0.85))
    return [
        f"{m} of seed {s} has R² {r:.3f} on the random split, below .85"
        for m, s, r in low.select("model", "seed", "r2").rows()
    ]


def _trained_r2(least: float) -> Any:
    def gate(table: pl.DataFrame) -> list[str]:
        low = table.filter((pl.col("part") == "scores") & (pl.col("r2_train") < least))
        return [
            f"{model} of seed {seed}, {split} has R² {r2:.3f} on training images, below {least:g}"
            for model, seed, split, r2 in low.select("model", "seed", "split", "r2_train").rows()
        ]

    return gate


CNN = StudyGroup(
    "gen-cnn",
    "a CNN on four splits",
    {
        "smoke": Recipe("mini-sprites, 3 of 500,000 steps", _file(SMOKE, 3, _net("cnn", 1e-3, 3), _FEW), fresh(1), 0.5),
        "small": Recipe(
            "dSprites-90 (64x64), 2,000 of 500,000 steps",
            _file(SMALL, 2000, _net("cnn", 1e-3, 2000), _ASKED),
            fresh(5),
            25,
            (SMALL,),
            steps=2000,
        ),
        "paper": Recipe(
            "dSprites-90, 500,000 steps",
            _file(SMALL, 500_000, _net("cnn", 5e-4, 500_000), "[measures.generalization]\n"),
            fresh(3),
            12 * 240,
            (SMALL,),
            steps=500_000,
            unit="GPU",
        ),
    },
    table="benchmark",
    gate=_random_r2,
)


def _others(first: int, second: int, rates: Sequence[float]) -> str:
    return _net(MLP, rates[0], first) + _net("coordconv", rates[1], second)


OTHER = StudyGroup(
    "gen-other",
    "an MLP and a CoordConv on four splits",
    {
        "smoke": Recipe(
            "mini-sprites, 3 of 500,000 steps", _file(SMOKE, 3, _others(3, 3, (1e-3, 3e-3)), _FEW), fresh(1), 0.7
        ),
        "small": Recipe(
            "dSprites-90 (64x64), 12,000 (MLP) and 2,400 (CoordConv) of 500,000 steps",
            _file(SMALL, 2400, _others(12_000, 2400, (1e-3, 3e-3)), _ASKED),
            fresh(5),
            40,
            (SMALL,),
            steps=12_000,
        ),
        "paper": Recipe(
            "dSprites-90, 500,000 steps",
            _file(SMALL, 500_000, _others(500_000, 500_000, (5e-4, 5e-4)), "[measures.generalization]\n"),
            fresh(3),
            24 * 240,
            (SMALL,),
            steps=500_000,
            unit="GPU",
        ),
    },
    needs=("gen-cnn",),
    table="benchmark",
    joined=("gen-cnn",),
    gate=_trained_r2(0.6),
)

ROOMS = StudyGroup(
    "gen-rooms",
    "a CNN on four splits of rooms",
    {
        "smoke": Recipe(
            "rooms3d-32, 3 of 500,000 steps",
            _file("rooms3d-32", 3, _net("cnn", 1e-3, 3), _FEW),
            fresh(1),
            0.5,
            ("rooms3d-32",),
        ),
        "small": Recipe(
            "rooms3d-32, which stands in for Shapes3D, 2,500 of 500,000 steps",
            _file("rooms3d-32", 2500, _net("cnn", 1e-3, 2500), _ASKED),
            fresh(5),
            18,
            ("rooms3d-32",),
            steps=2500,
        ),
        "paper": Recipe(
            "Shapes3D, 500,000 steps",
            _file("shapes3d", 500_000, _net("cnn", 5e-4, 500_000), "[measures.generalization]\n"),
            fresh(3),
            12 * 240,
            ("shapes3d",),
            steps=500_000,
            unit="GPU",
        ),
    },
    table="benchmark",
    gate=_random_r2,
)


def _codes(rate: float, net: str = "slow") -> str:
    shared = f'net = "{net}"\nlearning_rate = {rate}\n'
    return f"[objectives.beta-vae]\nbeta = [1, 4]\n{shared}[objectives.slow-vae]\ngamma = 10\nrate = 6\n{shared}"


REPRESENTATIONS = StudyGroup(
    "gen-rep",
    "read-outs of VAEs on four splits",
    {
        "smoke": Recipe(
            "mini-sprites, 3 of 500,000 steps",
            _file(SMOKE, 3, _codes(1e-3, "mlp:width=32"), _FEW + _DCI.format(100, 50)),
            fresh(1),
            1.5,
        ),
        "small": Recipe(
            "dSprites-90 (64x64), 3,000 of 500,000 steps",
            _file(SMALL, 3000, _codes(1e-3), _ASKED + _DCI.format(3000, 1500)),
            fresh(5),
            150,
            (SMALL,),
            steps=3000,
        ),
        "paper": Recipe(
            "dSprites-90, 500,000 steps",
            _file(SMALL, 500_000, _codes(1e-4), "[measures.generalization]\n" + _DCI.format(10_000, 5000)),
            fresh(10),
            120 * 240,
            (SMALL,),
            steps=500_000,
            unit="GPU",
        ),
    },
    table="benchmark",
    gate=_trained_r2(0.3),
)


def oracle(
    data: str, split: str, flip: bool, seed: int, recipe: str, images: int | None = None
) -> list[dict[str, Any]]:
    """A read-out of true factors."""
    from dataclasses import replace

    from unbraid.data import load
    from unbraid.generalization import get_recipe, oracle_readout

    chosen = get_recipe(recipe)
    if images is not None:
        chosen = replace(chosen, readout=replace(chosen.readout, images=images, epochs=1))
    answers = oracle_readout(load(data), split, flip=flip, recipe=chosen, images=images, seed=seed)
    return [{"r2": float(answers.scores.mean)}]


def _oracles(plan: Mapping[str, Any], seeds: Sequence[int]) -> list[Work]:
    found = []
    for split in HARD:
        for flip in (False, True):
            for seed in seeds:
                about = {"split": split, "flip": flip, "seed": seed}
                name = f"{split}-{'negative' if flip else 'true'}-{seed}"
                found.append(Work(name, about, function=f"{_HERE}:oracle", arguments={**plan, **about}))
    return found


ORACLE = CellGroup(
    "gen-oracle",
    "read-outs of true factors",
    {
        "smoke": Recipe("mini-sprites, 200 codes", {"data": SMOKE, "recipe": "cpu", "images": 200}, fresh(1), 0.5),
        "small": Recipe(
            "dSprites factors, 8 epochs of 20,000 codes",
            {"data": "dsprites", "recipe": "cpu"},
            fresh(3),
            8,
            ("dsprites",),
        ),
        "paper": Recipe(
            "dSprites factors, 8 epochs", {"data": "dsprites", "recipe": "paper"}, fresh(3), 120, ("dsprites",)
        ),
    },
    work=_oracles,
)


def descent(
    split: str, seed: int, images: int, samples: int, iterations: int, *, needed: Mapping[str, str]
) -> list[dict[str, Any]]:
    """R² of the read-out on codes of the encoder, and on latents found by descent through the decoder."""
    import numpy as np

    from unbraid.data import counter_rng
    from unbraid.generalization import fit_readout, r2, space_of, split_of
    from unbraid.robustness.synthesis import infer
    from unbraid.study import open_study
    from unbraid.training import open_run

    folder = open_study(needed["gen-rep"])
    named = f"split={split}"
    runs = [s.index for s in folder.study if s.objective == "slow-vae" and s.seed == seed and named in s.data]
    if not runs or folder.progress(runs[0]) != "evaluated":
        raise UsageError(f"gen-rep has no SlowVAE of seed {seed} on the split {split} yet")
    run = open_run(folder.run(runs[0]))
    halves = split_of(run, run.data())
    read = fit_readout(run, halves, "mlp", "cpu")
    index = counter_rng(0, 0).choice(len(halves.test), min(images, len(halves.test)), replace=False)
    pixels, factors = halves.test.images(index, counter_rng(0, 1)), halves.test.factors(index)
    found = infer(run, pixels, samples=samples, iterations=iterations).codes[:, 0]
    told = {"encoder": run.encode(pixels), "descent": found}
    space = space_of(halves.data)
    scores = {name: r2(read.read(codes.astype(np.float32)), factors, space).mean for name, codes in told.items()}
    return [{name: float(value) for name, value in scores.items()}]


def _descents(plan: Mapping[str, Any], seeds: Sequence[int]) -> list[Work]:
    return [
        Work(
            f"{split}-{seed}",
            {"split": split, "seed": seed},
            function=f"{_HERE}:descent",
            arguments={**plan, "split": split, "seed": seed},
        )
        for split in HARD
        for seed in seeds
    ]


DESCENT = CellGroup(
    "gen-abs",
    "latents by descent through SlowVAE decoders",
    {
        "smoke": Recipe("mini-sprites, 20 images", {"images": 20, "samples": 20, "iterations": 3}, fresh(1), 0.2),
        "small": Recipe(
            "dSprites-90, 1,000 images, 100 steps",
            {"images": 1000, "samples": 1000, "iterations": 100},
            fresh(5),
            10,
            (SMALL,),
        ),
        "paper": Recipe(
            "dSprites-90, 10,000 images, 100 steps",
            {"images": 10_000, "samples": 8000, "iterations": 100},
            fresh(10),
            600,
            (SMALL,),
        ),
    },
    needs=("gen-rep",),
    work=_descents,
)

"""Sparse transitions: grids of methods on pairs, gaps, natural dependences, and toy worlds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unbraid.claims.cells import CellGroup, Work
from unbraid.claims.group import Recipe, fresh
from unbraid.claims.studies import StudyGroup

__all__ = ["GAPS", "GRID", "NATURAL", "TOYS"]

_HERE = "unbraid.claims.all_groups.slow"
_SETS = ("sprites32",)
_ALL = "beta_vae", "factor_vae", "mig", "mcc", "dci", "modularity", "sap"


def _evaluation(
    metrics: Sequence[str], train: int, test: int, points: int, batches: int = 20, images: int = 500
) -> str:
    named = ", ".join(f'"{name}"' for name in metrics)
    return f"""
[evaluation]
metrics = [{named}]
representations = ["mean"]
train = {train}
test = {test}
points = {points}
batches = {batches}
images = {images}
"""


def _pairs(steps: int, data: Sequence[str], objectives: str, evaluation: str) -> dict[str, str]:
    named = ", ".join(f'"{name}"' for name in data)
    head = f'data = [{named}]\nsteps = {steps}\nnet = "mlp"\nbatch_size = 64\n'  # images, so 32 pairs
    return {"study": f"{head}{objectives}\n[options]\nlearning_rate = 1e-3\n{evaluation}"}


def _published(data: Sequence[str], objectives: str, metrics: Sequence[str]) -> dict[str, str]:
    """As published: convolutions, images of 64x64, pairs of 32."""
    named, asked = (", ".join(f'"{name}"' for name in names) for names in (data, metrics))
    head = f'data = [{named}]\nsteps = 300000\nnet = "slow"\nbatch_size = 64\n'
    tail = f'[evaluation]\nmetrics = [{asked}]\nrepresentations = ["mean"]\n'
    return {"study": f"{head}{objectives}\n[options]\nlearning_rate = 1e-4\n{tail}"}


_METHODS = """
[objectives.slow-vae]
gamma = 10
rate = 6
[objectives.gaussian-slow-vae]
[objectives.pm-vae]
gamma = 10
[objectives.ada-gvae]
beta = 1
[objectives.pcl]
[objectives.beta-vae]
beta = 4
"""
_SLOW = "\n[objectives.slow-vae]\ngamma = 10\nrate = 6\n"
_SMALL = (
    "sprites32:orientation=0 @ protocol=lap",
    "sprites32:orientation=0 @ protocol=uni",
    "natural-sprites-discrete:size=32,channels=1",
)
_KITTI = tuple(f"kitti-masks:max_gap={gap}" for gap in (1, 5))
_LARGE = (
    *("dsprites @ protocol=lap", "dsprites @ protocol=uni", "natural-sprites-discrete", "natural-sprites"),
    *_KITTI,
)
"""The sets of tables 1 and 2; of Natural Sprites there is a stand-in."""
_TINY, _FULL = _evaluation(_ALL, 200, 100, 50, 2, 50), _evaluation(_ALL, 1500, 750, 300)

GRID = StudyGroup(
    "slow-grid",
    "methods on pairs and priors of transitions",
    {
        "smoke": Recipe(
            "sprites32 and a stand-in, 20 of 300,000 steps",
            _pairs(20, _SMALL, _METHODS, _TINY),
            fresh(1),
            1.5,
            _SETS,
        ),
        "small": Recipe(
            "sprites32 without orientation and a stand-in of Natural Sprites (32x32), 4,000 of 300,000 steps",
            _pairs(4000, _SMALL, _METHODS, _FULL),
            fresh(5),
            54,
            _SETS,
            steps=4000,
        ),
        "paper": Recipe(
            "dSprites, KITTI Masks and a stand-in of Natural Sprites (64x64), 300,000 steps",
            _published(_LARGE, _METHODS, _ALL),
            fresh(10),
            6 * 6 * 10 * 180,
            ("dsprites", "kitti-masks"),
            steps=300_000,
            unit="GPU",
        ),
    },
)

_GAPS = tuple(f"pedestrians:max_gap={gap}" for gap in (1, 5))
_MCC = _evaluation(("mcc",), 5000, 500, 100, 10)
GAPS = StudyGroup(
    "slow-gaps",
    "SlowVAE on neighbouring and on distant frames",
    {
        "smoke": Recipe(
            "pedestrians, 20 of 300,000 steps",
            _pairs(20, _GAPS, _SLOW, _evaluation(("mcc",), 200, 100, 50, 2, 50)),
            fresh(1),
            0.3,
        ),
        "small": Recipe(
            "pedestrians, which stand in for KITTI Masks, 2,000 of 300,000 steps",
            _pairs(2000, _GAPS, _SLOW, _MCC),
            fresh(5),
            10,
            steps=2000,
        ),
        "paper": Recipe(
            "KITTI Masks, 300,000 steps",
            _published(_KITTI, _SLOW, ("mcc",)),
            fresh(10),
            20 * 180,
            ("kitti-masks",),
            steps=300_000,
            unit="GPU",
        ),
    },
)

_NATURAL = (
    "natural-sprites-discrete:size=32,channels=1,permuted=1",
    "natural-sprites:size=32,channels=1",
    "natural-sprites:size=32,channels=1,permuted=1",
)
NATURAL = StudyGroup(
    "slow-natural",
    "SlowVAE on natural transitions and on permuted ones",
    {
        "smoke": Recipe(
            "a stand-in of Natural Sprites, 20 of 300,000 steps",
            _pairs(20, _NATURAL, _SLOW, _evaluation(("mcc",), 200, 100, 50, 2, 50)),
            fresh(1),
            0.5,
        ),
        "small": Recipe(
            "a stand-in of Natural Sprites (32x32), 4,000 of 300,000 steps",
            _pairs(4000, _NATURAL, _SLOW, _evaluation(("mcc",), 1500, 750, 300)),
            fresh(5),
            10,
            steps=4000,
        ),
        "paper": Recipe(
            "a stand-in of Natural Sprites (64x64), 300,000 steps",
            _published(tuple(name.replace("size=32,channels=1", "size=64") for name in _NATURAL), _SLOW, ("mcc",)),
            fresh(10),
            30 * 180,
            steps=300_000,
            unit="GPU",
        ),
    },
)


def toy(
    world: str,
    seed: int,
    steps: int,
    dimensions: int = 5,
    pairs: int = 20_000,
    layers: Sequence[int] = (),
    restarts: int = 1,
) -> list[dict[str, Any]]:
    """One world of the toys for one seed."""
    from unbraid.theory import identifiability, posterior_collapse

    if world == "collapse":
        return list(posterior_collapse(seeds=[seed], steps=steps, pairs=pairs))
    return list(
        identifiability(
            world,  # type: ignore[arg-type]
            dimensions=dimensions,
            seeds=[seed],
            steps=steps,
            pairs=pairs,
            layers=tuple(layers) or (1,),
            restarts=restarts,
        )
    )


def _toys(plan: Mapping[str, Any], seeds: Sequence[int]) -> list[Work]:
    found = []
    for world, options in plan.items():
        for seed in seeds[: options.get("seeds", len(seeds))]:
            told = {key: value for key, value in options.items() if key not in ("seeds", "cost")}
            about = {"world": world, "seed": seed}
            found.append(
                Work(
                    f"{world}-{seed}", about, cost=options["cost"], function=f"{_HERE}:toy", arguments={**about, **told}
                )
            )
    return found


def _worlds(
    steps: Sequence[int], pairs: int, dimensions: int, layers: Sequence[int], restarts: int, fewer: int
) -> dict[str, Any]:
    return {
        "linear": {"steps": steps[0], "pairs": pairs, "cost": 1},
        "nonlinear": {"steps": steps[1], "pairs": pairs, "cost": 6},
        "collapse": {"steps": steps[2], "pairs": pairs, "seeds": fewer, "cost": 4},
        "series": {
            "steps": steps[1],
            "pairs": pairs,
            "dimensions": dimensions,
            "layers": list(layers),
            "restarts": restarts,
            "cost": 20,
        },
    }


TOYS = CellGroup(
    "slow-toys",
    "toy worlds whose latents should and should not be found",
    {
        "smoke": Recipe("toy worlds, 20 steps", _worlds((20, 20, 20), 2000, 4, (2, 3), 1, 1), fresh(1), 0.5),
        "small": Recipe(
            "toy worlds, 600 to 4,000 steps", _worlds((600, 4000, 2000), 20_000, 4, (1, 2, 3), 3, 4), fresh(5), 41
        ),
        "paper": Recipe(
            "toy worlds, series of 20 dimensions and 262,144 points",
            _worlds((600, 20_000, 2000), 262_144, 20, (1, 2, 3, 4, 5), 3, 10),
            fresh(10),
            10 * 5 * 120,
        ),
    },
    work=_toys,
)

"""Data sets whose local variance was changed, and fresh models on them (Zietlow, 2022)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unbraid.claims.cells import CellGroup, Work
from unbraid.claims.group import Recipe, fresh

__all__ = ["MANIPULATED"]

_HERE = "unbraid.claims.all_groups.manipulation"
HUES = "rooms3d-32:scale=4,shape=0,object_hue=0,orientation=7"
"""Floor and wall hue of a room."""
KNOWN = "unbraid.claims.all_groups._hadamard"
_WHOLE = {"seeds": 4, "steps": 8000, "polish": 2000, "pattern_steps": 1000, "warm_up": 1000}
"""Of images whose encoders are known exactly: asked beside the others, and judged by no rule."""
METHODS, VARIANTS = ("beta-vae", "beta-tcvae", "pcl"), ("original", "perturbed", "noise")


def manipulated(
    data: str, options: Mapping[str, Any], method: str = "", variant: str = "", seed: int = 0, *, place: Path
) -> list[dict[str, Any]]:
    """A fresh model on a data set, its perturbed version, or in noise; without a method, the perturbation itself."""
    from unbraid.theory import manipulation_trials

    if not method:
        # The perturbation is made when the first trial is asked for.
        next(iter(manipulation_trials(data, place, seeds=[0], methods=["beta-vae"], **options)))
        return []
    trials = manipulation_trials(data, place, seeds=[seed], methods=[method], **options)
    return [{**trial.setting, **trial.run()} for trial in trials if trial.setting["variant"] == variant]


def _manipulated(plan: Mapping[str, Any], seeds: Sequence[int]) -> list[Work]:
    function = f"{_HERE}:manipulated"
    plan, known = {key: value for key, value in plan.items() if key != "known"}, plan["known"]
    found = [Work("perturbation", {}, 0, 8, function, dict(plan), trains=True, prepares=True)]
    for seed in seeds[: known["seeds"]]:
        told = {"seed": seed, **{key: value for key, value in known.items() if key != "seeds"}}
        about = {"model": "hadamard64", "seed": seed}
        found.append(Work(f"hadamard64-{seed}", about, 0, 0.5, f"{KNOWN}:known_encoders", told, beside=True))
    for seed in seeds:
        for method in METHODS:
            for variant in VARIANTS:
                told = {"method": method, "variant": variant, "seed": seed}
                about = {"model": method, "variant": variant, "seed": seed}
                name = f"{method}-{variant}-{seed}"
                found.append(Work(name, about, 1, 1, function, {**plan, **told}, trains=True))
    return found


def _manipulation(
    steps: int, restarts: int, pattern: int, data: str = HUES, known: Mapping[str, int] = _WHOLE, **options: Any
) -> dict[str, Any]:
    asked = {"steps": steps, "restarts": restarts, "pattern_steps": pattern, **options}
    return {"data": data, "options": asked, "known": dict(known)}


MANIPULATED = CellGroup(
    "pca-manip",
    "fresh models on data whose local variance was changed",
    {
        "smoke": Recipe(
            "two hues of rooms3d-32, 6 steps",
            _manipulation(
                6,
                4,
                4,
                known={"seeds": 1, "steps": 20, "polish": 5, "pattern_steps": 4, "warm_up": 2},
                net="mlp:width=32",
                warm_up=2,
            ),
            fresh(1),
            1,
            ("rooms3d-32",),
        ),
        "small": Recipe(
            "two hues of rooms3d-32, 6,000 of 300,000 steps",
            _manipulation(6000, 8, 1000),
            fresh(5),
            154,
            ("rooms3d-32",),
            steps=6000,
        ),
        "paper": Recipe(
            "Shapes3D, 300,000 steps",
            _manipulation(300_000, 8, 100_000, data="shapes3d"),
            fresh(10),
            98 * 180,
            ("shapes3d",),
            steps=300_000,
            unit="GPU",
        ),
    },
    work=_manipulated,
)

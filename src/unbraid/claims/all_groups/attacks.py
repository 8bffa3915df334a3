"""Attacks on models of digits, lower bounds of what no attack can do, and climbs from noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unbraid.claims.all_groups._synthesis import (
    DRAWING,
    calibrated,
    digits,
    distances,
    run_of,
    tried,
)
from unbraid.claims.cells import CellGroup, Work
from unbraid.claims.group import Recipe, fresh

__all__ = ["ATTACKS"]

_HERE = "unbraid.claims.all_groups.attacks"


_WHOM = ("abs", "binary-abs", "cnn", "binary-cnn", "pgd", "twin")


def attacked(
    model: str,
    norm: str,
    seed: int,
    images: int,
    few: int,
    attacks: Mapping[str, Mapping[str, Any]],
    *,
    needed: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Smallest distances of some digits by some attacks."""
    return distances(run_of(needed, model, seed), model, norm, seed, images, few, attacks, needed)


def bounded(model: str, norm: str, seed: int, images: int, *, needed: Mapping[str, str]) -> list[dict[str, Any]]:
    """Lower bounds of L2 distances."""
    from unbraid.robustness.synthesis import lower_bounds

    assert (model, norm) == ("abs", "bound")
    pixels, labels, index = digits(images, seed)
    found = lower_bounds(run_of(needed, "abs", seed), pixels, labels, coupled=False)
    return [
        {"part": "bound", "image": int(image), "distance": float(bound)}
        for image, bound, right in zip(index, found.l2, found.right, strict=True)
        if right
    ]


def climbed(
    model: str, norm: str, seed: int, climbs: int, steps: int, images: int, *, needed: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Climbs from noise towards digits (of CNNs), and the posterior of noise as it is (of ABS)."""
    from unbraid.robustness import distal
    from unbraid.robustness.synthesis import posterior

    assert norm == "distal"
    run = run_of(needed, model, seed)
    calibration = calibrated(run, images, seed)
    rng = np.random.default_rng(seed)
    shape = run.data().shape
    noise = (rng.random((climbs * 5, *shape)) * 255).round().astype(np.uint8)
    sure = posterior(run.predict(noise), calibration).max(axis=1)
    rows = [{"part": "noise", "confidence": float(value)} for value in sure]
    if model == "abs":
        return rows
    found = distal(
        run, (shape[2], *shape[:2]), (np.arange(climbs) % 10).tolist(), calibration=calibration, steps=steps, seed=seed
    )
    return rows + [{"part": "distal", "confidence": float(value)} for value in found.confidence]


def _attacks(plan: Mapping[str, Any], seeds: Sequence[int]) -> list[Work]:
    found = []
    for seed in seeds:
        for norm in ("l0", "l2", "linf"):
            for model in _WHOM:
                about = {"model": model, "norm": norm, "seed": seed}
                told = {**about, "images": plan["images"][norm], "few": plan["few"]}
                told["attacks"] = tried(norm, model, bool(plan.get("smoke")))
                cost = 15.0 if model in DRAWING else 1.0
                found.append(Work(f"{model}-{norm}-{seed}", about, 0, cost, f"{_HERE}:attacked", told))
        about = {"model": "abs", "norm": "bound", "seed": seed}
        found.append(Work(f"abs-bound-{seed}", about, 0, 4, f"{_HERE}:bounded", {**about, "images": plan["bounds"]}))
        for model in ("abs", "cnn"):
            about = {"model": model, "norm": "distal", "seed": seed}
            told = {**about, "climbs": plan["climbs"], "steps": plan["climb_steps"], "images": plan["held"]}
            found.append(Work(f"{model}-distal-{seed}", about, 0, 2, f"{_HERE}:climbed", told))
    return found


def _asked(l2: int, l0: int, few: int, bounds: int, climbs: int, steps: int, held: int, **more: Any) -> dict[str, Any]:
    about = {"images": {"l0": l0, "l2": l2, "linf": l2}, "few": few, "bounds": bounds, "climbs": climbs}
    return {**about, "climb_steps": steps, "held": held, **more}


ATTACKS = CellGroup(
    "abs-attacks",
    "attacks, bounds and climbs from noise",
    {
        "smoke": Recipe("MNIST, 2 digits", _asked(2, 2, 2, 2, 2, 3, 20, smoke=True), fresh(1), 1.5, ("mnist",)),
        "small": Recipe(
            "MNIST, 30 digits (20 for L0), attacks with 15 passes",
            _asked(30, 20, 15, 100, 20, 1000, 500),
            fresh(3),
            119,
            ("mnist",),
        ),
        "paper": Recipe(
            "MNIST, 1,000 digits",
            _asked(1000, 1000, 25, 1000, 100, 10_000, 5000),
            fresh(3),
            40_000,
            ("mnist",),
            unit="GPU",
        ),
    },
    needs=("abs-models", "mnist-pgd"),
    work=_attacks,
)

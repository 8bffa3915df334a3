"""From restarts of a VAE to a data set that breaks its alignment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data import Dataset, Perturbed, counter_rng, unit_factors
from unbraid.errors import UsageError
from unbraid.metrics import evaluate
from unbraid.objectives import Objective
from unbraid.theory.perturbation import Manipulation, noise_directions
from unbraid.training import Run, train

__all__ = ["Alignments", "noise_advantage", "pick_alignments", "save_manipulation", "train_restarts", "trained"]

Say = Callable[[str], None]


@dataclass(frozen=True)
class Alignments:
    """Models of the same data by how well they separate its factors."""

    entangled: list[Run]
    """Lowest mutual information gap first."""
    disentangled: list[Run]
    """Highest first."""
    scores: dict[str, float]
    """The gap of every run that was looked at, by path."""


def train_restarts(
    objective: Objective, data: Dataset, folder: Path, *, restarts: int, steps: int, say: Say = lambda _: None
) -> list[Run]:
    """The same objective from several seeds, each into ``folder/SEED``; finished ones are taken as they are."""
    if restarts < 2:
        raise UsageError(f"restarts must be at least 2, a better and a worse one, got {restarts}")
    runs = []
    for seed in range(restarts):
        say(f"restart {seed + 1} of {restarts}: {objective.name} on {data.name}, {steps:,} steps")
        runs.append(trained(objective, data, folder / str(seed), steps, seed))
    return runs


def trained(objective: Objective, data: Any, folder: Path, steps: int, seed: int) -> Run:
    """A finished run; being asked to stop ends the experiment, which must not judge half-trained models."""
    run = train(objective, data, out=folder, steps=steps, seed=seed, progress="none")
    if not run.finished:
        raise KeyboardInterrupt
    return run


def pick_alignments(runs: Sequence[Run], data: Dataset, *, ensemble: int = 1, seed: int = 0) -> Alignments:
    """The ``ensemble`` runs with the lowest and with the highest mutual information gap; no run is both."""
    if not 1 <= ensemble <= len(runs) // 2:
        raise UsageError(f"ensemble must lie in 1..{len(runs) // 2}, half of the {len(runs)} runs, got {ensemble}")
    scores = [float(evaluate(run, data, ["mig"], train=5000, test=2, seed=seed)["mig"]) for run in runs]
    order = np.argsort(scores, kind="stable")
    return Alignments(
        [runs[i] for i in order[:ensemble]],
        [runs[i] for i in order[: -ensemble - 1 : -1]],
        {str(run.path): score for run, score in zip(runs, scores, strict=True)},
    )


def noise_advantage(chosen: Alignments, data: Dataset) -> dict[str, Any]:
    """Is there anything to exploit? By how much less noise the entangled model has, and along which factors.

    See :func:`unbraid.theory.noise_directions`; taken from the first model of each group, on 2,000 images.
    """
    index = data.sample_index(2000, counter_rng(0, 0))
    advantages, directions = noise_directions(
        _posterior(chosen.entangled[0], data, index),
        _posterior(chosen.disentangled[0], data, index),
        unit_factors(data.need_space("a perturbation"), data.factors(index)),
    )
    return {
        "noise_advantages": advantages.tolist(),
        "noise_direction": dict(zip(data.factor_names, directions[:, 0].tolist(), strict=True)),
    }


def save_manipulation(
    found: Manipulation, chosen: Alignments, data: Dataset, folder: Path, **record: Any
) -> dict[str, Any]:
    """Write a trained perturbation with its card's numbers, measured on 2,000 images; returns them."""
    index = data.sample_index(2000, counter_rng(0, 0))
    before = data.images(index, counter_rng(0, 1)).astype(np.float64) / 255
    after = Perturbed(data, found.perturbation).images(index, counter_rng(0, 1)).astype(np.float64) / 255
    numbers = {
        "mean_change": float(np.abs(after - before).mean()),
        "largest_change": float(np.abs(after - before).max()),
        "deviation": float(np.sqrt(((after - before) ** 2).mean())),
        "variance": float(before.var(axis=0).sum()),
        "variance_after": float(after.var(axis=0).sum()),
        "gaps": found.gaps,
        "kept_step": found.kept[0],
        "entangled": [str(run.path) for run in chosen.entangled],
        "disentangled": [str(run.path) for run in chosen.disentangled],
        "mig": chosen.scores,
        **record,
    }
    found.perturbation.save(folder, data, **numbers)
    return numbers


def _posterior(run: Run, data: Dataset, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found = run.describe(data.images(index, counter_rng(0, 1)))
    return found["mean"].astype(np.float64), np.exp(found["logvar"].astype(np.float64))

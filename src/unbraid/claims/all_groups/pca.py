"""The VAE-PCA theory: synthetic data, restarts, digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from unbraid.claims.cells import CellGroup, Work
from unbraid.claims.group import Recipe, fresh

__all__ = ["BLOBS", "DIGITS", "SYNTHETIC"]

_HERE = "unbraid.claims.all_groups.pca"
EXPERIMENTS = ("orthogonality", "degeneracy", "polarised")
BETAS = ((2, (0.05, 0.1, 0.25, 0.5, 1.0)), (10, (0.02,)))
"""Numbers of latents, with the strengths at which a linear VAE is trained."""


def synthetic(experiment: str, seed: int, steps: int | None) -> list[dict[str, Any]]:
    """All models of an experiment on synthetic data for one seed."""
    from unbraid.theory import pca_trials

    trials = pca_trials(experiment, seeds=[seed], steps=steps)
    return [{**trial.setting, **trial.run()} for trial in trials]


def linear(seed: int, steps: int) -> list[dict[str, Any]]:
    """A linear VAE at several strengths against its closed form: directions, variances, norms, active latents."""
    import numpy as np

    from unbraid.data import SyntheticLinear
    from unbraid.objectives import LinearVAE
    from unbraid.theory import fit, linear_vae_optimum

    data = SyntheticLinear()
    points = data.images(np.arange(len(data))).astype(np.float64)
    points = points.reshape(len(points), -1)
    covariance = np.cov(points, rowvar=False, bias=True)
    rows = []
    for latents, betas in BETAS:
        for beta in betas:
            scaled = beta * data.scale**2
            made = LinearVAE(beta=scaled, latents=latents, learning_rate=3e-2)
            found = fit(made, data, steps=steps, polish=steps // 3, batch_size=512, seed=seed)
            closed = linear_vae_optimum(covariance, scaled, min(latents, len(covariance)))
            row = {"beta": beta, "latents": latents, "seed": seed, "active": len(found.active)}
            rows.append(row | _against(found, closed))
    return rows


def _against(found: Any, closed: Any) -> dict[str, Any]:
    """How far the active columns are from the closed form, largest data variance first."""
    import numpy as np

    used = int(closed.active.sum())
    if not len(found.active) or len(found.active) != used:
        return {"cosine": None, "variance_error": None, "norm_error": None}
    columns = found.jacobians.mean(axis=0)[:, found.active]
    lengths = np.linalg.norm(columns, axis=0)
    order = np.argsort(-lengths)
    directions = columns[:, order] / lengths[order]
    cosines = np.abs((directions * closed.directions[:, :used]).sum(axis=0))
    wanted = np.linalg.norm(closed.decoder[:, :used], axis=0)
    variances = found.seen.variance[found.active][order]
    return {
        "cosine": float(cosines.min()),
        "variance_error": float(np.abs(variances / closed.variances[:used] - 1).max()),
        "norm_error": float(np.abs(lengths[order] / wanted - 1).max()),
    }


def _synthetic(plan: Mapping[str, Any], seeds: Sequence[int]) -> list[Work]:
    found = []
    for experiment in EXPERIMENTS:
        for seed in seeds:
            about = {"experiment": experiment, "seed": seed}
            told = {**about, "steps": plan["steps"]}
            found.append(Work(f"{experiment}-{seed}", about, cost=4, function=f"{_HERE}:synthetic", arguments=told))
    for seed in seeds[: plan["linear_seeds"]]:
        told = {"seed": seed, "steps": plan["linear_steps"]}
        about = {"experiment": "linear", "seed": seed}
        found.append(Work(f"linear-{seed}", about, cost=2, function=f"{_HERE}:linear", arguments=told))
    return found


SYNTHETIC = CellGroup(
    "pca-synth",
    "decoders of synthetic vectors",
    {
        "smoke": Recipe(
            "synthetic vectors, 60 steps", {"steps": 60, "linear_steps": 60, "linear_seeds": 1}, fresh(1), 0.5
        ),
        "small": Recipe(
            "synthetic vectors, 3,000 to 9,000 steps and a third more",
            {"steps": None, "linear_steps": 9000, "linear_seeds": 3},
            fresh(5),
            30,
        ),
        "paper": Recipe(
            "synthetic vectors, 187,500 steps (600 epochs)",
            {"steps": 187_500, "linear_steps": 187_500, "linear_seeds": 10},
            fresh(10),
            1200,
        ),
    },
    work=_synthetic,
)


def restart(
    seed: int, steps: int | None, data: str = "blobs16", scale: str = "small", *, place: Path
) -> list[dict[str, Any]]:
    """One restart of figure 3.4."""
    from unbraid.theory import agreement_trials

    trials = agreement_trials(data, place, seeds=[seed], steps=steps, scale=scale)  # type: ignore[arg-type]
    return [{**trial.setting, **trial.run()} for trial in trials]


def _restarts(plan: Mapping[str, Any], seeds: Sequence[int]) -> list[Work]:
    return [
        Work(f"seed-{seed}", {"seed": seed}, function=f"{_HERE}:restart", arguments={**plan, "seed": seed}, trains=True)
        for seed in seeds
    ]


BLOBS = CellGroup(
    "pca-blobs",
    "restarts of a VAE on a spot of nearly equal widths",
    {
        "smoke": Recipe("blobs16, 40 steps", {"steps": 40}, fresh(4), 0.3, ("blobs16",)),
        "small": Recipe("blobs16, up to 2,500 steps and a quarter more", {"steps": None}, fresh(24), 6, ("blobs16",)),
        "paper": Recipe(
            "dSprites, 10, 30 and 50 epochs",
            {"steps": None, "data": "dsprites", "scale": "paper"},
            fresh(60),
            60 * 30 * 60,
            ("dsprites",),
            steps=230_400,
        ),
    },
    work=_restarts,
)

MODELS = ("vae", "ae", "full-beta-vae", "random")


def digits(model: str, seed: int, steps: int | None, scale: str = "small", *, place: Path) -> list[dict[str, Any]]:
    """One model of table 3.3 on digits."""
    from unbraid.theory import image_trials

    trials = image_trials("mnist", place, seeds=[seed], steps=steps, scale=scale)  # type: ignore[arg-type]
    return [{**trial.setting, **trial.run()} for trial in trials if trial.setting["model"] == model]


def _digits(plan: Mapping[str, Any], seeds: Sequence[int]) -> list[Work]:
    return [
        Work(
            f"{model}-{seed}",
            {"model": model, "seed": seed},
            cost=0.1 if model == "random" else 1.0,
            function=f"{_HERE}:digits",
            arguments={**plan, "model": model, "seed": seed},
            trains=True,
        )
        for seed in seeds
        for model in MODELS
    ]


def _used(table: pl.DataFrame) -> list[str]:
    few = table.filter((pl.col("model") != "random") & (pl.col("active") < 2))
    return [
        f"{model} of seed {seed} has {n} active latents"
        for model, seed, n in few.select("model", "seed", "active").rows()
    ]


DIGITS = CellGroup(
    "pca-mnist",
    "decoders of digits",
    {
        "smoke": Recipe("MNIST, 30 steps", {"steps": 30}, fresh(1), 0.3, ("mnist",)),
        "small": Recipe("MNIST, 10 of 400 epochs", {"steps": None}, fresh(5), 18, ("mnist",), steps=4688),
        "paper": Recipe(
            "MNIST, 400 epochs", {"steps": None, "scale": "paper"}, fresh(10), 1200, ("mnist",), steps=187_500
        ),
    },
    work=_digits,
    gate=_used,
)

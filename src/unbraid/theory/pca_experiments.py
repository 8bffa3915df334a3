"""The published experiments on synthetic data, small enough for one core: one row of plain values per model and seed.

After Rolinek, Zietlow & Martius (2019), tables 3.2 to 3.4 of the longer account (Zietlow, 2022).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from unbraid.data import Dataset, SyntheticLinear, SyntheticNonlinear
from unbraid.errors import UsageError, unknown_name
from unbraid.objectives import AE, BetaVAE, FullBetaVAE, LinearVAE, Objective
from unbraid.options import seed_list
from unbraid.theory.fitted import fit
from unbraid.theory.trials import Trial

__all__ = ["EXPERIMENTS", "pca_trials"]

TANH = "mlp:encoder=60+40+20,decoder=20+40+60,activation=tanh"
"""The published networks for the nonlinear vectors."""


def pca_trials(experiment: str, *, seeds: int | Sequence[int] = 5, steps: int | None = None) -> Iterator[Trial]:
    """All trials of an experiment, seed by seed, so that stopping early leaves a whole table of fewer seeds.

    ``orthogonality``: which models have orthogonal columns and separate the factors (table 3.3). ``degeneracy``: the
    same for a linear VAE while two variances meet (table 3.4). ``polarised``: for which share of training a VAE is in
    the polarised regime (table 3.2). ``steps`` replaces the number of steps of every model. Nonlinear data are another
    random map for every seed: how far the directions of largest variance follow the factors depends on the map.
    """
    if experiment not in EXPERIMENTS:
        raise unknown_name("experiment", experiment, EXPERIMENTS)
    if steps is not None and steps < 1:
        raise UsageError(f"steps must be at least 1, got {steps}")
    for seed in seed_list(seeds):
        for data, model, objective, usual, options in EXPERIMENTS[experiment](seed):
            chosen = 0 if model == "random" else steps or usual
            setting = {
                "data": data.name,
                **options,
                "model": model,
                "latents": objective.latents,
                "beta": getattr(objective, "beta", None),
                "steps": chosen,
                "seed": seed,
            }
            name = "-".join([data.name, *(f"{value:g}" for value in options.values()), model, str(objective.latents)])
            watch = max(1, chosen // 40) if experiment == "polarised" else 0
            yield Trial(
                f"{name}-seed{seed}",
                setting,
                partial(
                    _judge,
                    objective,
                    data,
                    steps=chosen,
                    polish=chosen // 3,
                    # What takes longest is leaving the saddle where one latent is off; there noise only disturbs.
                    batch_size=512 if isinstance(data, SyntheticLinear) else 128,
                    watch=watch,
                    seed=seed,
                ),
            )


def _judge(objective: Objective, data: Dataset, **options: int) -> dict[str, Any]:
    return fit(objective, data, **options).to_row(seed=options["seed"])


Case = tuple[Dataset, str, Any, int, dict[str, float]]
"""Data, name of the model, objective, steps before polishing, and what else tells the case from others."""


def _orthogonality(seed: int) -> Iterator[Case]:
    line, curve = SyntheticLinear(), SyntheticNonlinear(seed)
    beta = 0.05 * line.scale**2
    yield line, "beta-vae", LinearVAE(beta=beta, learning_rate=3e-2), 9000, {}
    yield line, "full-beta-vae", FullBetaVAE(beta=beta, net="linear", **_shared(3e-2)), 9000, {}
    yield line, "ae", AE(net="linear", **_shared(1e-2)), 3000, {}
    yield line, "random", AE(net="linear", **_shared(1e-2)), 0, {}
    beta = 1e-2 * curve.scale**2
    yield curve, "beta-vae", BetaVAE(beta=beta, net=TANH, **_shared()), 9000, {}
    yield curve, "full-beta-vae", FullBetaVAE(beta=beta, net=TANH, **_shared()), 9000, {}
    yield curve, "ae", AE(net=TANH, **_shared()), 9000, {}
    yield curve, "random", AE(net=TANH, **_shared()), 0, {}


def _degeneracy(_: int) -> Iterator[Case]:
    for ratio in (1.0, 1.2, 1.5):
        data = SyntheticLinear(ratio)
        yield data, "beta-vae", LinearVAE(beta=0.05 * data.scale**2, learning_rate=3e-2), 9000, {"ratio": ratio}


def _polarised(seed: int) -> Iterator[Case]:
    line, curve = SyntheticLinear(), SyntheticNonlinear(seed)
    for latents in (2, 10):
        # Noise is drawn here, as in the published runs: an exact average would enter the regime sooner.
        yield line, "beta-vae", LinearVAE(beta=1e-4 * line.scale**2, latents=latents, sampled=True), 9000, {}
        yield curve, "beta-vae", BetaVAE(beta=1e-3 * curve.scale**2, net=TANH, **_shared(latents=latents)), 9000, {}


def _shared(learning_rate: float = 1e-3, latents: int = 2) -> dict[str, Any]:
    return {"latents": latents, "likelihood": "gaussian", "learning_rate": learning_rate}


EXPERIMENTS: dict[str, Callable[[int], Iterator[Case]]] = {
    "orthogonality": _orthogonality,
    "degeneracy": _degeneracy,
    "polarised": _polarised,
}

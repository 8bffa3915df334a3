"""From restarts of a VAE to a data set that breaks its alignment, and the experiment that shows whether it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data import Dataset, Perturbed, counter_rng, load, unit_factors
from unbraid.errors import UsageError
from unbraid.files import read_json
from unbraid.metrics import evaluate
from unbraid.objectives import BetaVAE, Objective, make
from unbraid.theory.perturbation import Manipulation, codec_of, noise_directions, train_perturbation
from unbraid.theory.trials import Trial, check_same
from unbraid.training import Run, train

__all__ = [
    "MANIPULATED",
    "Alignments",
    "manipulation_trials",
    "noise_advantage",
    "pick_alignments",
    "save_manipulation",
    "train_restarts",
]

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
        runs.append(_trained(objective, data, folder / str(seed), steps, seed))
    return runs


def _trained(objective: Objective, data: Any, folder: Path, steps: int, seed: int) -> Run:
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


@dataclass(frozen=True)
class _Plan:
    """How one data set of the experiment is perturbed and what is trained on it."""

    epsilon: float
    beta: float


PLANS = {"sprites32": _Plan(0.1, 8.0), "rooms3d-32": _Plan(0.175, 4.0)}
"""The two data sets of the experiment, with the published epsilons. With a larger beta all restarts on rooms come
apart, and none is left to play the entangled one."""
MANIPULATED = ("sprites32:shape=1,orientation=0,scale=5", "rooms3d-32:scale=4,shape=0,object_hue=0,orientation=7")
"""Two factors of each that need different numbers of pixels (an ellipse moves more of them in one direction than in the
other, the wall is larger than the floor) and that no latent gives up: a pattern would bring back a factor that the
disentangled model has lost, and turn nothing."""
OTHER_PLAN = _Plan(0.1, 4.0)
VARIANTS = ("original", "perturbed", "noise")


def manipulation_trials(
    data: str,
    folder: Path,
    *,
    seeds: int = 3,
    steps: int = 1500,
    restarts: int = 5,
    net: str = "conv",
    beta: float | None = None,
    pattern_steps: int = 400,
    methods: Sequence[str] = ("beta-vae", "beta-tcvae", "pcl"),
    say: Say = lambda _: None,
) -> Iterator[Trial]:
    """Fresh models on a data set, on its perturbed version and in noise of the same size, scored by MIG and DCI.

    The perturbation is made first, from the best and the worst restart of ``beta-vae`` on the original; it and all runs
    lie under ``folder`` and are not made twice.
    """
    name = data.partition(":")[0]
    plan = PLANS.get(name, OTHER_PLAN)
    plan = plan if beta is None else replace(plan, beta=beta)
    base = load(data)
    latents = len(base.need_space("a perturbation, which is a function of all factors,").sizes)
    shared: dict[str, Any] = {"latents": latents, "net": net, "learning_rate": 1e-3}
    source, made_by = folder / "perturbation", {"restarts": restarts, "pattern_steps": pattern_steps, **asdict(plan)}
    if (source / "perturbation.json").exists():
        check_same(source, read_json(source / "perturbation.json"), made_by | {"steps": steps, "net": net})
    else:
        objective = BetaVAE(beta=plan.beta, **shared)
        runs = train_restarts(
            objective, base, folder / "runs" / "beta-vae-original", restarts=restarts, steps=steps, say=say
        )
        chosen = pick_alignments(runs, base)
        say(f"restarts by mutual information gap: {', '.join(f'{score:.3f}' for score in chosen.scores.values())}")
        noise = noise_advantage(chosen, base)
        say(f"entangled codes are less noisy by up to {noise['noise_advantages'][0]:.4f}")
        found = train_perturbation(
            [codec_of(run) for run in chosen.entangled],
            [codec_of(run) for run in chosen.disentangled],
            base,
            epsilon=plan.epsilon,
            steps=pattern_steps,
            net=net,
            learning_rate=1e-3,
            check_every=50,
            tell=lambda step, gap: say(f"pattern step {step}: gap {gap:.3f} nats"),
        )
        numbers = save_manipulation(found, chosen, base, source, steps=steps, net=net, **made_by, **noise)
        say(f"mean change {numbers['mean_change']:.4f}, largest {numbers['largest_change']:.4f}")
    perturbed = {"source": str(source.absolute())}
    recipes: dict[str, tuple[str, dict[str, str]]] = {
        "original": (data, {}),
        "perturbed": ("perturbed", perturbed),
        "noise": ("perturbed", perturbed | {"control": "amplitude"}),
    }
    for seed in range(seeds):
        for method in methods:
            options = shared | ({"beta": plan.beta} if method.startswith("beta-") else {})
            for variant in VARIANTS:
                place = folder / "runs" / f"{method}-{variant}" / str(seed)
                setting = {"data": data, "model": method, "variant": variant, "steps": steps, "net": net, "seed": seed}
                setting |= made_by
                task = partial(_train_and_score, make(method, options), recipes[variant], place, steps, seed)
                yield Trial(f"{name}-{method}-{variant}-seed{seed}", setting, task)


def _train_and_score(
    objective: Objective, recipe: tuple[str, dict[str, str]], folder: Path, steps: int, seed: int
) -> dict[str, Any]:
    dataset = load(recipe[0], **recipe[1])
    run = _trained(objective, dataset, folder, steps, seed)
    scores = evaluate(run, dataset, ["mig", "dci"], train=2000, test=1000, seed=seed)
    row: dict[str, Any] = {"mig": float(scores["mig"]), "dci": float(scores["dci"])}
    found = run.describe(dataset.images(np.arange(0, len(dataset), max(1, len(dataset) // 500)), counter_rng(0, 1)))
    row["active"] = int((np.exp(found["logvar"]).mean(axis=0) < 0.8).sum()) if "logvar" in found else None
    return row

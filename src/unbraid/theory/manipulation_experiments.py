"""What a perturbed data set does to fresh models, and whether a stronger penalty helps (Zietlow et al., 2021)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data import counter_rng, load
from unbraid.errors import UsageError, unknown_name
from unbraid.metrics import evaluate
from unbraid.objectives import BetaVAE, Objective, make
from unbraid.options import seed_list
from unbraid.reading import read_json
from unbraid.theory.manipulation import (
    Say,
    noise_advantage,
    pick_alignments,
    save_manipulation,
    train_restarts,
    trained,
)
from unbraid.theory.perturbation import codec_of, train_perturbation
from unbraid.theory.trials import Trial, check_same

__all__ = ["MANIPULATED", "METHODS", "STRENGTHS", "manipulation_trials", "strength_trials"]


@dataclass(frozen=True)
class _Plan:
    """How one data set of the experiment is perturbed and what is trained on it."""

    epsilon: float
    beta: float
    gamma: float = 7.0
    """Of factor-vae."""


PLANS = {"sprites32": _Plan(0.1, 8.0, 35.0), "rooms3d-32": _Plan(0.175, 4.0)}
"""With the published epsilons and gammas. With a larger beta all restarts on rooms come apart, and none is left to play
the entangled one."""
OTHER_PLAN = _Plan(0.1, 4.0)
MANIPULATED = (
    "rooms3d-32:scale=4,shape=0,object_hue=0,orientation=7",
    "rooms3d-32:scale=4,shape=0,orientation=7",
)
"""Two and three hues of a room: they need different numbers of pixels (the wall is larger than the floor), and a way to
lay two circles of hues out that mixes them may well be the more precise one. On sprites it never was."""
VARIANTS = ("original", "perturbed", "noise")
METHODS = {"beta-vae": "beta", "beta-tcvae": "beta", "factor-vae": "gamma", "slow-vae": "beta", "pcl": "", "ae": ""}
"""Methods of table 4.2, and the option that sets the strength of each."""
STRENGTHS = (0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
"""Multiples of the usual strength."""
SCORES = ("mig", "dci", "factor_vae", "sap")


@dataclass(frozen=True)
class _Ready:
    """A data set, its perturbation, and how models on it are made."""

    data: str
    folder: Path
    factors: tuple[str, ...]
    plan: _Plan
    shared: dict[str, Any]
    made_by: dict[str, Any]
    steps: int
    found: dict[str, Any]
    """What the record of the perturbation says of it."""

    def objective(self, method: str, strength: float = 1.0) -> Objective:
        usual = {
            "beta-vae": self.plan.beta,
            "beta-tcvae": self.plan.beta,
            "factor-vae": self.plan.gamma,
            "slow-vae": 1.0,
        }
        option = {METHODS[method]: strength * usual[method]} if METHODS[method] else {}
        return make(method, self.shared | option)

    def trial(self, method: str, variant: str, seed: int, strength: float = 1.0) -> Trial:
        """A fresh model; at its usual strength it is the same run whichever experiment asks for it."""
        times = "" if strength == 1 else f"-x{strength:g}"
        name = f"{self.data.partition(':')[0]}-{method}{times}-{variant}-seed{seed}"
        setting = {"data": self.data, "model": method, "variant": variant, "steps": self.steps}
        setting |= {"net": self.shared["net"], "seed": seed, **self.made_by} | ({"strength": strength} if times else {})
        place = self.folder / "runs" / f"{method}{times}-{variant}" / str(seed)
        perturbed = {"source": str((self.folder / "perturbation").absolute())}
        recipes: dict[str, tuple[str, dict[str, str]]] = {
            "original": (self.data, {}),
            "perturbed": ("perturbed", perturbed),
            "noise": ("perturbed", perturbed | {"control": "amplitude"}),
        }
        task = partial(
            _train_and_score, self.objective(method, strength), recipes[variant], place, self.steps, seed, self.found
        )
        return Trial(name, setting, task)


def manipulation_trials(
    data: str,
    folder: Path,
    *,
    seeds: int | Sequence[int] = 8,
    methods: Sequence[str] = ("beta-vae", "beta-tcvae", "pcl"),
    **options: Any,
) -> Iterator[Trial]:
    """Fresh models on a data set, on its perturbed version and in noise of the same size (tables 4.2 to 4.5).

    The perturbation is made first, from the best and the worst restart of ``beta-vae`` on the original; it and all runs
    lie under ``folder`` and are not made twice. ``options`` are those of :func:`prepare`.
    """
    for method in methods:
        if method not in METHODS:
            raise unknown_name("model of the manipulation", method, METHODS)
    ready = prepare(data, folder, **options)
    for seed in seed_list(seeds):
        for method in methods:
            for variant in VARIANTS:
                yield ready.trial(method, variant, seed)


def strength_trials(
    data: str,
    folder: Path,
    *,
    seeds: int | Sequence[int] = 8,
    methods: Sequence[str] = ("beta-vae", "beta-tcvae"),
    strengths: Sequence[float] = STRENGTHS,
    **options: Any,
) -> Iterator[Trial]:
    """Does a stronger penalty undo the perturbation? Models on the perturbed set by strength (figures 4.4 to 4.7).

    ``folder`` is that of :func:`manipulation_trials`, whose perturbation and runs are taken where they are there.
    """
    for method in methods:
        if not METHODS.get(method):
            raise unknown_name("model with a strength", method, [name for name, option in METHODS.items() if option])
    if not strengths or min(strengths) <= 0:
        raise UsageError(f"strengths must be positive multiples, got {list(strengths)}")
    ready = prepare(data, folder, **options)
    for seed in seed_list(seeds):
        for method in methods:
            for strength in strengths:
                trial = ready.trial(method, "perturbed", seed, strength)
                yield replace(trial, setting=trial.setting | {"strength": strength})


def prepare(
    data: str,
    folder: Path,
    *,
    steps: int = 6000,
    restarts: int = 8,
    restart_steps: int | None = None,
    net: str = "conv",
    beta: float | None = None,
    pattern_steps: int = 1000,
    warm_up: int = 200,
    say: Say = lambda _: None,
) -> _Ready:
    """Make the perturbation of a data set, or find it made.

    Restarts train for ``restart_steps`` (otherwise ``steps``): seeds that agree after long training leave nobody to
    play the entangled model, and earlier they do not agree yet. ``warm_up`` is that of :func:`train_perturbation`.
    """
    plan = PLANS.get(data.partition(":")[0], OTHER_PLAN)
    plan = plan if beta is None else replace(plan, beta=beta)
    base = load(data)
    latents = len(base.need_space("a perturbation, which is a function of all factors,").sizes)
    shared: dict[str, Any] = {"latents": latents, "net": net, "learning_rate": 1e-3}
    source = folder / "perturbation"
    made_by: dict[str, Any] = {"restarts": restarts, "pattern_steps": pattern_steps, "restart_steps": restart_steps}
    made_by |= {name: value for name, value in asdict(plan).items() if name != "gamma"}
    if (source / "perturbation.json").exists():
        check_same(source, read_json(source / "perturbation.json"), made_by | {"steps": steps, "net": net})
    else:
        early = "beta-vae-original" if restart_steps in (None, steps) else f"beta-vae-original-{restart_steps}"
        runs = train_restarts(
            BetaVAE(beta=plan.beta, **shared),
            base,
            folder / "runs" / early,
            restarts=restarts,
            steps=restart_steps or steps,
            say=say,
        )
        chosen = pick_alignments(runs, base)
        say(f"restarts by mutual information gap: {', '.join(f'{score:.3f}' for score in chosen.scores.values())}")
        noise = noise_advantage(chosen, base)
        say(f"entangled codes are less noisy by up to {noise['noise_advantages'][0]:.4f}")
        if noise["noise_advantages"][0] < 1e-3:
            say("that is next to nothing: the pattern has nothing to exploit, and no drop is to be expected")
        found = train_perturbation(
            [codec_of(run) for run in chosen.entangled],
            [codec_of(run) for run in chosen.disentangled],
            base,
            epsilon=plan.epsilon,
            steps=pattern_steps,
            warm_up=warm_up,
            net=net,
            learning_rate=1e-3,
            check_every=50,
            tell=lambda step, gap: say(f"pattern step {step}: gap {gap:.3f} nats"),
        )
        numbers = save_manipulation(
            found, chosen, base, source, steps=steps, net=net, warm_up=warm_up, **made_by, **noise
        )
        say(f"kept step {found.kept[0]}; mean change {numbers['mean_change']:.4f}")
    record = read_json(source / "perturbation.json")
    step = record.get("kept_step", record["gaps"][-1][0])  # earlier versions used the last pattern
    facts = {"gap": dict(map(tuple, record["gaps"]))[step], "advantage": max(record["noise_advantages"])}
    return _Ready(data, folder, base.factor_names, plan, shared, made_by, steps, facts)


def _train_and_score(
    objective: Objective,
    recipe: tuple[str, dict[str, str]],
    folder: Path,
    steps: int,
    seed: int,
    facts: dict[str, Any],
) -> dict[str, Any]:
    dataset = load(recipe[0], **recipe[1])
    run = trained(objective, dataset, folder, steps, seed)
    scores = evaluate(run, dataset, SCORES, train=2000, test=1000, points=(500, 250), seed=seed)
    row: dict[str, Any] = {name: float(scores[name]) for name in SCORES}
    gaps = scores["mig"].parts["per_factor"]
    row |= {f"mig_{name}": float(gap) for name, gap in zip(dataset.factor_names, gaps, strict=True)}
    found = run.describe(dataset.images(np.arange(0, len(dataset), max(1, len(dataset) // 500)), counter_rng(0, 1)))
    active = int((np.exp(found["logvar"]).mean(axis=0) < 0.8).sum()) if "logvar" in found else None
    # Fewer active latents than factors: a score of what is left says nothing about alignment.
    return row | {"active": active, "pruned": active is not None and active < len(dataset.factor_names)} | facts

"""Analysis by synthesis on digits: models, attacks on them, bounds, climbs from noise, corruptions."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from unbraid.claims.all_groups.noise import PGD
from unbraid.claims.cells import CellGroup, Work
from unbraid.claims.group import Recipe, fresh
from unbraid.claims.studies import StudyGroup
from unbraid.errors import UsageError

__all__ = ["ATTACKS", "BERNOULLI", "CORRUPTED", "MODELS"]

_HERE = "unbraid.claims.all_groups.abs"
TEST = "mnist:split=test"
CLASSIFIERS = {"cnn": "small-cnn", "binary-cnn": "binarised:net=small-cnn"}
DRAWING = ("abs", "binary-abs")


def _models(steps: int, samples: int, iterations: int, images: int) -> dict[str, Any]:
    nets = "".join(
        f'[[objectives.classifier]]\nnet = "{net}"\nlearning_rate = 1e-3\nsteps = {steps}\nbatch_size = 100\n'
        for net in CLASSIFIERS.values()
    )
    return {
        "study": f"""\
data = ["mnist"]
steps = {steps}
batch_size = 64
[objectives.abs]
anneal_steps = {max(1, steps // 2)}
samples = {samples}
iterations = {iterations}
{nets}
[measures.accuracy]
images = {images}
data = ["{TEST}"]
"""
    }


def _accurate(table: pl.DataFrame) -> list[str]:
    found = []
    for objective, least in (("abs", 0.93), ("classifier", 0.94)):
        low = table.filter((pl.col("objective") == objective) & (pl.col("accuracy") < least))
        found += [
            f"{objective} of seed {seed} names {100 * share:.1f} % of clean digits, below {100 * least:g} %"
            for seed, share in low.select("seed", "accuracy").rows()
        ]
    return found


MODELS = StudyGroup(
    "abs-models",
    "class-wise VAEs, a CNN and a CNN of thresholded digits",
    {
        "smoke": Recipe("MNIST, 3 steps", _models(3, 10, 2, 20), fresh(1), 0.5, ("mnist",)),
        "small": Recipe(
            "MNIST, 1,000 of 29,000 steps, searches of 1,000 starts and 30 passes",
            _models(1000, 1000, 30, 500),
            fresh(3),
            35,
            ("mnist",),
            steps=1000,
        ),
        "paper": Recipe(
            "MNIST, 29,000 steps",
            _models(29_000, 8000, 50, 10_000),
            fresh(3),
            3 * 900,
            ("mnist",),
            steps=29_000,
            unit="GPU",
        ),
    },
    gate=_accurate,
)


def _run_of(needed: Mapping[str, str], model: str, seed: int) -> Any:
    """The trained run behind a model's name."""
    from unbraid.study import open_study
    from unbraid.training import open_run

    group = "mnist-pgd" if model in ("pgd", "twin") else "abs-models"
    folder = open_study(needed[group])
    for spec in folder.study:
        augment = "+".join(str(one) for one in spec.options.get("augment", ()))
        names = {
            "abs": spec.objective == "abs",
            "binary-abs": spec.objective == "abs",
            "cnn": spec.net == CLASSIFIERS["cnn"],
            "binary-cnn": spec.net == CLASSIFIERS["binary-cnn"],
            "pgd": augment == PGD or augment.startswith("adversarial"),
            "twin": not augment and spec.after is not None,
        }
        if spec.seed == seed and names[model]:
            if folder.progress(spec.index) not in ("trained", "evaluated"):
                break
            return open_run(folder.run(spec.index))
    raise UsageError(f"{group} has no trained {model} of seed {seed} yet")


def _classifiers(run: Any, model: str, few: int) -> tuple[Any, Any]:
    """What attacks ask, and what verifies their finds if that is another: a whole search instead of a short one."""
    from unbraid.robustness.attacks import Classifier
    from unbraid.robustness.synthesis import Binarised, SearchClassifier, fit_scales

    if model not in DRAWING:
        return Classifier(run), None
    search, networks = run.objective.search, copy.deepcopy(run.model)
    made = [
        SearchClassifier(networks, replace(search, iterations=min(search.iterations, n)))
        for n in (few, search.iterations)
    ]
    if model == "binary-abs":
        data = run.data()
        index = np.sort(np.random.default_rng(0).choice(len(data), min(500, len(data)), replace=False))
        scores = Classifier(Binarised(made[1])).scores(_floats(data.images(index))).cpu().numpy()
        scales = fit_scales(scores, data.labels(index))
        made = [Binarised(one, scales=scales) for one in made]
    short, whole = (Classifier(one, model) for one in made)
    return short, whole


def _floats(images: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(np.moveaxis(images, -1, 1).astype(np.float32) / 255)


def _digits(images: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As many test digits of every class, the same for every model."""
    from unbraid.data import load

    data = load(TEST)
    labels, rng = data.labels(), np.random.default_rng(seed)
    each = -(-images // 10)
    index = np.concatenate([rng.permutation(np.flatnonzero(labels == digit))[:each] for digit in range(10)])
    index = rng.permutation(index)[:images]
    return data.images(index), labels[index], index


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
    return _distances(_run_of(needed, model, seed), model, norm, seed, images, few, attacks)


def _distances(
    run: Any, model: str, norm: str, seed: int, images: int, few: int, tried: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    from unbraid.robustness import attacks

    short, whole = _classifiers(run, model, few)
    pixels, labels, index = _digits(images, seed)
    rows = []
    for name, options in tried.items():
        if not short.offers(attacks.get(name).needs):
            continue
        found = attacks.get(name)(short, pixels, labels, norm=norm, seed=seed, verify=whole, **options)
        for image, distance in zip(index, found.distances.cpu().numpy(), strict=True):
            # JSON has no infinity: nothing stands for it.
            told = float(distance) if np.isfinite(distance) else None
            rows.append({"part": "distances", "attack": name, "image": int(image), "distance": told})
    return rows


def bounded(model: str, norm: str, seed: int, images: int, *, needed: Mapping[str, str]) -> list[dict[str, Any]]:
    """Lower bounds of L2 distances."""
    from unbraid.robustness.synthesis import lower_bounds

    assert (model, norm) == ("abs", "bound")
    pixels, labels, index = _digits(images, seed)
    found = lower_bounds(_run_of(needed, "abs", seed), pixels, labels, coupled=False)
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
    run = _run_of(needed, model, seed)
    calibration = _calibrated(run, images, seed)
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


def _calibrated(run: Any, images: int, seed: int) -> Any:
    """Probabilities calibrated on test digits other than those that are asked about."""
    import warnings

    from unbraid.data import load
    from unbraid.errors import UsageWarning
    from unbraid.robustness.synthesis import calibrate

    data = load(TEST)
    held = np.sort(np.random.default_rng([seed, 1]).choice(len(data), min(images, len(data)), replace=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UsageWarning)
        return calibrate(run.predict(data.images(held)), data.labels(held))


_TRIED: dict[str, dict[str, dict[str, Any]]] = {
    "l0": {"salt-and-pepper": {"restarts": 2}, "pointwise": {"restarts": 2}},
    "l2": {"gaussian": {"restarts": 3}, "fgm": {}, "deepfool": {}, "bim": {}, "ddn": {}},
    "linf": {"fgm": {}, "deepfool": {}, "bim": {}, "mim": {}},
}
_ONLY_DRAWING = {"latent-descent": {}, "boundary": {"steps": 300}}
_WHOM = ("abs", "binary-abs", "cnn", "binary-cnn", "pgd", "twin")


def _tried(norm: str, model: str, smoke: bool) -> dict[str, dict[str, Any]]:
    if smoke:
        return {
            "l0": _TRIED["l0"],
            "l2": {"fgm": {}, "gaussian": {"restarts": 1}},
            "linf": {"fgm": {}, "bim": {"steps": 2}},
        }[norm]
    more = _ONLY_DRAWING if norm == "l2" and model in DRAWING else {}
    return {**_TRIED[norm], **more}


def _attacks(plan: Mapping[str, Any], seeds: Sequence[int]) -> list[Work]:
    found = []
    for seed in seeds:
        for norm in ("l0", "l2", "linf"):
            for model in _WHOM:
                about = {"model": model, "norm": norm, "seed": seed}
                told = {**about, "images": plan["images"][norm], "few": plan["few"]}
                told["attacks"] = _tried(norm, model, bool(plan.get("smoke")))
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
            120,
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


def bernoulli(
    seed: int, steps: int, samples: int, iterations: int, images: int, few: int, smoke: bool = False, *, place: Path
) -> list[dict[str, Any]]:
    """An ABS model with a Bernoulli likelihood, attacked as the Gaussian one is."""
    from unbraid.data import load
    from unbraid.objectives import make
    from unbraid.training import train

    options = {
        "likelihood": "bernoulli",
        "anneal_steps": max(1, steps // 2),
        "samples": samples,
        "iterations": iterations,
    }
    run = train(
        make("abs", options),
        load("mnist"),
        out=place / str(seed),
        steps=steps,
        seed=seed,
        batch_size=64,
        progress="none",
    )
    if not run.finished:
        raise KeyboardInterrupt
    rows = _distances(run, "abs", "l2", seed, images, few, _tried("l2", "abs", smoke))
    return [{**row, "model": "abs-bernoulli", "norm": "l2"} for row in rows]


def _bernoulli(plan: Mapping[str, Any], seeds: Sequence[int]) -> list[Work]:
    return [
        Work(
            f"seed-{seed}", {"seed": seed}, function=f"{_HERE}:bernoulli", arguments={**plan, "seed": seed}, trains=True
        )
        for seed in seeds
    ]


BERNOULLI = CellGroup(
    "abs-bernoulli",
    "class-wise VAEs with a Bernoulli likelihood",
    {
        "smoke": Recipe(
            "MNIST, 3 steps",
            {"steps": 3, "samples": 10, "iterations": 2, "images": 2, "few": 2, "smoke": True},
            fresh(1),
            0.5,
            ("mnist",),
        ),
        "small": Recipe(
            "MNIST, 1,000 of 29,000 steps, 20 digits",
            {"steps": 1000, "samples": 1000, "iterations": 30, "images": 20, "few": 15},
            fresh(3),
            60,
            ("mnist",),
        ),
        "paper": Recipe(
            "MNIST, 29,000 steps, 1,000 digits",
            {"steps": 29_000, "samples": 8000, "iterations": 50, "images": 1000, "few": 25},
            fresh(3),
            15_000,
            ("mnist",),
            unit="GPU",
        ),
    },
    work=_bernoulli,
)


def corrupted(
    model: str, seed: int, images: int, held: int, suite: Sequence[str], *, needed: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Accuracy and sureness under corruptions."""
    from unbraid.corruptions import MNIST_C, corrupt
    from unbraid.robustness.synthesis import posterior

    run = _run_of(needed, model, seed)
    calibration = _calibrated(run, held, seed)
    pixels, labels, _ = _digits(images, seed)
    rows = []
    for name in suite or MNIST_C:
        spoiled = corrupt(pixels, name, severity=MNIST_C[name].severities[0], seed=seed)
        chances = posterior(run.predict(spoiled), calibration)
        top, right = chances.max(axis=1), chances.argmax(axis=1) == labels
        wrong = float((top[~right] > 0.5).mean()) if (~right).any() else 0.0
        rows.append(
            {
                "corruption": name,
                "accuracy": float(right.mean()),
                "unsure": float((top <= 0.2).mean()),
                "sure_and_wrong": wrong,
            }
        )
    return rows


def _corrupted(plan: Mapping[str, Any], seeds: Sequence[int]) -> list[Work]:
    return [
        Work(
            f"{model}-{seed}",
            {"model": model, "seed": seed},
            function=f"{_HERE}:corrupted",
            arguments={**plan, "model": model, "seed": seed},
        )
        for seed in seeds
        for model in ("abs", "cnn")
    ]


CORRUPTED = CellGroup(
    "abs-corruptions",
    "ABS and a CNN under corruptions",
    {
        "smoke": Recipe(
            "MNIST, 2 corruptions of 10 digits",
            {"images": 10, "held": 20, "suite": ["fog", "brightness"]},
            fresh(1),
            0.3,
            ("mnist",),
        ),
        "small": Recipe(
            "MNIST, 15 corruptions of 60 digits", {"images": 60, "held": 500, "suite": []}, fresh(3), 8, ("mnist",)
        ),
        "paper": Recipe(
            "MNIST, 15 corruptions of 10,000 digits",
            {"images": 10_000, "held": 5000, "suite": []},
            fresh(3),
            4000,
            ("mnist",),
            unit="GPU",
        ),
    },
    needs=("abs-models",),
    work=_corrupted,
)

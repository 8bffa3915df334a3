"""What the groups on analysis by synthesis share: their models by name, digits, calibration, and attacks."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from unbraid.claims.all_groups.noise import PGD
from unbraid.errors import UsageError

__all__ = ["DRAWING", "NETWORKS", "TEST", "calibrated", "digits", "distances", "run_of", "tried"]

TEST = "mnist:split=test"
NETWORKS = {"cnn": "small-cnn", "binary-cnn": "binarised:net=small-cnn", "substitute": "substitute"}
"""Classifiers by the names of models; the last is attacked in the place of others."""
DRAWING = ("abs", "binary-abs")


def run_of(needed: Mapping[str, str], model: str, seed: int) -> Any:
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
            **{name: spec.net == net for name, net in NETWORKS.items()},
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
        binary = [Binarised(one, scales=scales) for one in made]
        return Classifier(binary[0], model), Classifier(binary[1], model)
    return Classifier(made[0], model), Classifier(made[1], model)


def _floats(images: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(np.moveaxis(images, -1, 1).astype(np.float32) / 255)


def digits(images: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As many test digits of every class, the same for every model."""
    from unbraid.data import load

    data = load(TEST)
    labels, rng = data.labels(), np.random.default_rng(seed)
    each = -(-images // 10)
    index = np.concatenate([rng.permutation(np.flatnonzero(labels == digit))[:each] for digit in range(10)])
    index = rng.permutation(index)[:images]
    return data.images(index), labels[index], index


def distances(
    run: Any,
    model: str,
    norm: str,
    seed: int,
    images: int,
    few: int,
    chosen: Mapping[str, Mapping[str, Any]],
    needed: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Smallest distances of some digits by each of the attacks chosen that can ask this model."""
    from unbraid.robustness import attacks

    short, whole = _classifiers(run, model, few)
    threshold = 0.5 if model.startswith("binary") else None  # what such models do not see is taken back
    pixels, labels, index = digits(images, seed)
    rows = []
    for name, options in chosen.items():
        if not short.offers(attacks.get(name).needs):
            continue
        more: dict[str, Any] = {"binary": threshold} if name == "latent-descent" else {}
        more |= {"substitute": run_of(needed, "substitute", seed)} if name == "transfer" else {}
        found = attacks.get(name)(
            short, pixels, labels, norm=norm, seed=seed, verify=whole, threshold=threshold, **{**options, **more}
        )
        for image, distance in zip(index, found.distances.cpu().numpy(), strict=True):
            # JSON has no infinity: nothing stands for it.
            told = float(distance) if np.isfinite(distance) else None
            rows.append({"part": "distances", "attack": name, "image": int(image), "distance": told})
    return rows


def calibrated(run: Any, images: int, seed: int) -> Any:
    """Probabilities calibrated on test digits, drawn apart from those that are asked about."""
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
    "l2": {"gaussian": {"restarts": 3}, "fgm": {}, "deepfool": {}, "bim": {}, "ddn": {}, "transfer": {"levels": 10}},
    "linf": {"fgm": {}, "deepfool": {}, "bim": {}, "mim": {}, "transfer": {"levels": 10}},
}


def tried(norm: str, model: str, smoke: bool) -> dict[str, dict[str, Any]]:
    """Attacks with all their settings: the same for all models, but for what only some can be asked, or at great cost.

    Settings that are left alone are told, too: they are a part of the recipe.
    """
    from unbraid.robustness import attacks

    def whole(name: str, told: Mapping[str, Any]) -> dict[str, Any]:
        usual = attacks.get(name).options
        return {key: value for key, value in usual.items() if value is not inspect.Parameter.empty} | dict(told)

    return {name: whole(name, told) for name, told in _asked(norm, model, smoke).items()}


def _asked(norm: str, model: str, smoke: bool) -> Mapping[str, Mapping[str, Any]]:
    if smoke:
        return {
            "l0": _TRIED["l0"],
            "l2": {"fgm": {}, "gaussian": {"restarts": 1}, "transfer": {"levels": 2}},
            "linf": {"fgm": {}, "bim": {"steps": 2}},
        }[norm]
    if norm != "l2":
        return _TRIED[norm]
    drawing: Mapping[str, Mapping[str, Any]] = {"latent-descent": {}, "boundary": {"steps": 150}}
    return {**_TRIED[norm], **(drawing if model in DRAWING else {"boundary": {"steps": 300}})}

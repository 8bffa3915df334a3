"""The numbers of the measure ``invariance``: errors, informations and metamers of one run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from unbraid.data import counter_rng
from unbraid.evaluation import Scores, class_tasks, draw_images, say, true_classes, wilson
from unbraid.invariance.bijective import BATCH, as_bijective, outputs_of, to_inputs, to_pictures, undone
from unbraid.invariance.definitions import Function, classes_of
from unbraid.invariance.metameric import metamer_report, metamers
from unbraid.invariance.nuisance import error_of, information_of, judge_reader, label_entropy, train_reader
from unbraid.invariance.shown import radii_of
from unbraid.invariance.spheres import sphere_oracle
from unbraid.metrics import Score
from unbraid.objectives import make
from unbraid.training import describe_data, open_run, train

if TYPE_CHECKING:
    from unbraid.data import Dataset
    from unbraid.invariance.measure import Invariance
    from unbraid.training import Run

__all__ = ["oracle_of", "samples", "scores", "train_proxy"]

Samples = tuple["Dataset", np.ndarray]
"""A data set, and which of its images."""


def scores(asked: Invariance, run: Run, data: Dataset, seed: int) -> Scores:
    """All numbers of one run by name."""
    net = as_bijective(run)
    known, judged = samples(run, data, asked.train, asked.images, seed)
    say("invariance: outputs")
    z, labels = _outputs(run, *known, seed)[0], _classes(run, *known)
    (test_z, bits), test_labels = _outputs(run, *judged, seed), _classes(run, *judged)
    logits, test_logits = net.split(z)[0], net.split(test_z)[0]
    say("invariance: nuisance classifier")
    reader = train_reader(
        net.split(z)[1],
        labels,
        classes=logits.shape[1],
        width=asked.width,
        depth=asked.depth,
        steps=asked.steps,
        patience=asked.patience,
        learning_rate=asked.learning_rate,
        standardise=asked.standardise,
        seed=seed,
    )
    left = judge_reader(reader, net.split(z)[1], labels, net.split(test_z)[1], test_labels)
    say("invariance: metamers")
    chosen = judged[0], np.sort(counter_rng(seed, 1).permutation(judged[1])[: asked.metamers])
    x, own = _inputs(run, *chosen, seed), _classes(run, *chosen)
    made = metamers(run, x, labels=own, seed=seed)
    learnt = known[0].part(known[1]) if known[0] is judged[0] else known[0]
    oracle, proxy = oracle_of(run, learnt, judged[0], asked.proxy, asked.proxy_steps, seed)
    seen = metamer_report(made, x, oracle, proxy=proxy, tolerance=asked.tolerance)
    n = len(test_labels)
    about = {"images": n, "interval": "Wilson, 95 %", "seed": seed}

    def share(name: str, value: float, count: int = n) -> Score:
        interval = wilson(round(value * count), count) if count else (np.nan, np.nan)
        return Score(name, value, parts={"interval": np.array(interval)}, settings={**about, "images": count})

    assert seen.as_donor is not None
    return {
        "logit_train_error": error_of(logits, labels),
        "logit_test_error": share("logit_test_error", error_of(test_logits, test_labels)),
        "logit_information": information_of(test_logits, test_labels),
        "nuisance_train_error": left.train_error,
        "nuisance_test_error": share("nuisance_test_error", left.test_error),
        "nuisance_information": left.information,
        "nuisance_steps": float(reader.steps),
        "label_entropy": label_entropy(test_labels),
        "chance_error": left.chance,
        "metamer_residual": float(made.residual.max()),
        "metamer_kept": seen.kept,
        "metamer_as_logits": share("metamer_as_logits", seen.agreement, seen.count),
        "metamer_as_donor": share("metamer_as_donor", seen.as_donor, seen.count),
        "metamer_by_proxy": float(proxy),
        "proxy_test_error": float((classes_of(oracle, x) != own).double().mean()),
        "bits_per_dimension": float(bits.mean()),
        "inverse_error": float((undone(net, outputs_of(net, x[:BATCH])) - x[:BATCH]).abs().max()),
    }


def samples(run: Run, data: Dataset, train: int, images: int, seed: int) -> tuple[Samples, Samples]:
    """What a nuisance classifier learns from, of the data of the run, and what it is judged on, of ``data``.

    No image is in both. Where these are the same data the logits have been trained on either; of other data, images
    that are judged are left out of what is learnt from.
    """
    record, about = describe_data(data), run.info["data"]
    if any(record[key] != about.get(key) for key in ("fingerprint", "truth", "images", "positions")):
        own = run.data()
        known, judged = draw_images(own, train, seed), draw_images(data, images, seed)
        if own.shape == data.shape:
            asked = {image.tobytes() for image in data.images(judged, counter_rng(seed, 2))}
            apart = [image.tobytes() not in asked for image in own.images(known, counter_rng(seed, 3))]
            known = known[np.array(apart, dtype=bool)]
        return (own, known), (data, judged)
    drawn = counter_rng(seed, 0).permutation(len(data))[: train + images]
    count = min(train, len(drawn) * train // (train + images))  # of small data sets the same share
    return (data, np.sort(drawn[:count])), (data, np.sort(drawn[count:]))


def oracle_of(run: Run, data: Dataset, judged: Dataset, proxy: str, steps: int, seed: int) -> tuple[Function, bool]:
    """Who says what inputs of a run's bijection show, and whether it is a proxy: a classifier, which may err.

    On spheres it is the geometry of those that are ``judged``; a proxy is trained on ``data``.
    """
    radii = radii_of(judged)
    if radii is not None and not proxy:
        return sphere_oracle(radii), False
    judge = open_run(proxy).predict if proxy else train_proxy(run, data, steps, seed)
    return lambda x: torch.as_tensor(judge(to_pictures(run, x))), True


def train_proxy(run: Run, data: Dataset, steps: int, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """Class scores by a small network, not a bijection, trained on these data for the classes that a run names."""
    (task,) = class_tasks(run)
    net = "mlp" if len(data.shape) == 1 else "small-cnn"
    with tempfile.TemporaryDirectory() as folder:
        made = train(
            make("classifier", {"net": net, "factor": task.factor}),
            data,
            steps=steps,
            batch_size=100,
            seed=seed,
            out=Path(folder) / "proxy",
            progress="none",
        )
        if not made.finished:  # training ends quietly when it is interrupted, and half a proxy is none
            raise KeyboardInterrupt
        _ = made.model  # in memory from here on
    return made.predict


def _inputs(run: Run, data: Dataset, index: np.ndarray, seed: int, number: int = 0) -> Tensor:
    return to_inputs(run, data.images(index, counter_rng(seed, 2 + number)))


def _classes(run: Run, data: Dataset, index: np.ndarray) -> Tensor:
    return torch.as_tensor(true_classes(run, data, index))


@torch.no_grad()
def _outputs(run: Run, data: Dataset, index: np.ndarray, seed: int) -> tuple[Tensor, Tensor]:
    """Outputs ``[n, d]`` and bits per dimension ``[n]``."""
    model: Any = run.model
    found = []
    for number, start in enumerate(range(0, len(index), BATCH)):
        z, log_det = model.net(_inputs(run, data, index[start : start + BATCH], seed, number))
        found.append((z.cpu(), model.bits(z, log_det).cpu()))
    z, bits = (torch.cat(part) for part in zip(*found, strict=True))
    return z, bits

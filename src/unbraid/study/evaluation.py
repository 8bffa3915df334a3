"""Measure a finished run: scores of its mean and sampled codes, its losses at the end of training, codes for UDR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from unbraid.data import ImageDataset, counter_rng, make_stream
from unbraid.errors import UsageError
from unbraid.files import replace_file, write_json
from unbraid.metrics import METRICS, Score, evaluate
from unbraid.objectives import Inputs
from unbraid.study.folder import EVALUATION, codes_file, scores_file
from unbraid.study.grid import Evaluation, Representation
from unbraid.training import Run, numerics
from unbraid.training.loop import NOISE

__all__ = ["evaluate_run", "losses_after_training", "score_run", "shared_codes"]

CLOCKS = ("seconds", "encoding_seconds")
"""Settings of a score that differ from one computation to the next; left out, so that equal runs give equal bytes."""


def evaluate_run(run: Run, data: ImageDataset, evaluation: Evaluation, settings: Mapping[str, Any]) -> None:
    """Measure a run and write the results into its folder; ``evaluation.json``, written last, says all are there."""
    (run.path / EVALUATION).unlink(missing_ok=True)
    codes, kl = shared_codes(run, data, images=evaluation.images, seed=evaluation.seed)
    arrays: dict[str, Any] = {"codes": codes} | ({} if kl is None else {"kl": kl})
    with replace_file(codes_file(run.path)) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)
    for representation in evaluation.representations:
        if representation not in run.objective.representations:
            continue
        scores = score_run(run, data, evaluation, representation)
        record = {name: _without_clocks(score.to_json()) for name, score in scores.items()}
        write_json(
            scores_file(run.path, representation),
            {"representation": representation, "data": data.name, "seed": evaluation.seed, "scores": record},
        )
    record = {"settings": dict(settings), "losses": losses_after_training(run, data, batches=evaluation.batches)}
    write_json(run.path / EVALUATION, record)


def score_run(run: Run, data: ImageDataset, evaluation: Evaluation, representation: Representation) -> dict[str, Score]:
    """The chosen scores that the data allow: on tracks those by rank, without factors those of the codes alone."""
    if data.has_factors:
        points = None if evaluation.points is None else (evaluation.points, max(evaluation.points // 2, 2))
        names = evaluation.metrics
        if data.factor_sizes is None:
            names = tuple(name for name in names if METRICS[name].by_rank or METRICS[name].needs == "codes")
        return evaluate(
            run,
            data,
            metrics=names,
            representation=representation,
            train=evaluation.train,
            test=evaluation.test,
            points=points,
            options={name: own for name, own in evaluation.options.items() if name in names},
            seed=evaluation.seed,
        )
    rng = counter_rng(evaluation.seed, 0)
    images = data.images(data.sample_index(evaluation.train, rng), rng)
    codes = run.encode(images, kind=representation, seed=evaluation.seed)
    return {
        name: METRICS[name].function(codes, seed=evaluation.seed, **evaluation.options.get(name, {}))
        for name in evaluation.metrics
        if METRICS[name].needs == "codes"
    }


def losses_after_training(run: Run, data: ImageDataset, *, batches: int) -> dict[str, float]:
    """Means of the losses over the batches that would have come next, without learning from them.

    ``regularizer`` is everything that is added to the reconstruction loss, ``elbo`` is -(reconstruction + kl).
    """
    if batches < 1:
        return {}
    objective, model, seed, first = run.objective, run.model, int(run.info["seed"]), int(run.info["step"])
    stream = make_stream(objective.needs, data, int(run.info["batch_size"]), seed)
    noise = torch.Generator(run.device)
    rows: list[dict[str, float]] = []
    with torch.no_grad(), numerics.autocast(run.device, "fp32"):
        for step in range(first, first + batches):
            batch = stream(step)
            names = ("labels", "factors", "index", "partner_factors")
            arrays = {name: getattr(batch, name) for name in names}
            inputs = Inputs(
                numerics.to_tensor(batch.images, run.device),
                None if batch.partners is None else numerics.to_tensor(batch.partners, run.device),
                **{key: None if a is None else torch.as_tensor(a).to(run.device) for key, a in arrays.items()},
            )
            noise.manual_seed(int(counter_rng(seed, step, NOISE).integers(2**63)))
            _, terms = next(iter(objective.losses(model, inputs, step, noise)))  # the model's own; games have more
            numbers = {name: value.item() for name, value in {**terms.terms, **terms.watched}.items()}
            rows.append({**numbers, "loss": terms.total.item()})
    means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    if "reconstruction" in means:
        means["regularizer"] = means["loss"] - means["reconstruction"]
        if "kl" in means:
            means["elbo"] = -(means["reconstruction"] + means["kl"])
    return means


def shared_codes(run: Run, data: ImageDataset, *, images: int, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Mean codes ``[n, d]`` of images that are the same for all runs on this data, and the mean KL of each code."""
    if images < 2:
        raise UsageError(f"images must be at least 2, got {images}")
    rng = counter_rng(seed, 1)
    pixels = data.images(data.sample_index(images, rng), rng)
    found = run.describe(pixels, seed=seed)
    codes = found["mean"] if "mean" in found else run.encode(pixels)
    kl = found.get("kl_per_latent")
    return codes.astype(np.float32), None if kl is None else kl.mean(axis=0, dtype=np.float64)


def _without_clocks(record: dict[str, Any]) -> dict[str, Any]:
    settings = {key: value for key, value in record["settings"].items() if key not in CLOCKS}
    return {**record, "settings": settings}

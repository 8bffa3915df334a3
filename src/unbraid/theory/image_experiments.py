"""Which decoders of real images are orthogonal, and whether the distance tells good restarts (Zietlow, 2022, ch. 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from unbraid.data import Blobs, Dataset, load
from unbraid.errors import UsageError, unknown_name
from unbraid.objectives import BetaVAE
from unbraid.options import seed_list
from unbraid.theory.fitted import Fitted, fit
from unbraid.theory.jacobian import decoder_jacobian, decoder_of
from unbraid.theory.polarised import polarisation
from unbraid.theory.presets import BATCH_SIZE, Preset, preset
from unbraid.theory.trials import Trial
from unbraid.training import Run, train

__all__ = ["IMAGES", "STOPS", "agreement", "agreement_trials", "image_trials", "judge"]

IMAGES = ("dsprites", "mnist", "fashion-mnist")
"""Data sets of table 3.3 that are pictures."""
STOPS = (0.2, 0.6, 1.0)
"""Shares of the training after which restarts were stopped: 10, 30 and 50 epochs of 50."""
Scale = Literal["small", "paper"]
BLOBS = "mlp:encoder=128+128,decoder=128+128,decoder_activation=tanh"


def image_trials(
    data: str, folder: Path, *, seeds: int | Sequence[int] = 5, scale: Scale = "small", steps: int | None = None
) -> Iterator[Trial]:
    """Table 3.3 on a data set of pictures: every model that was published for it, seed by seed, with its settings.

    Runs lie in ``folder/runs`` and go on where they stopped. Models are judged on images they were not trained on:
    a tenth of dSprites, and the test images of digits and clothes, which have no factors and so no score.
    """
    if data not in IMAGES:
        raise unknown_name("data set of pictures", data, IMAGES)
    _check(steps, scale)
    plan = preset(data)
    usual = plan.steps(plan.small_epochs if scale == "small" else None)
    for seed in seed_list(seeds):
        for model in plan.models:
            yield _trial(plan, model, folder, 0 if model == "random" else steps or usual, seed)


def agreement_trials(
    data: str, folder: Path, *, seeds: int | Sequence[int] = 24, scale: Scale = "small", steps: int | None = None
) -> Iterator[Trial]:
    """Figure 3.4: does the distance to orthogonality tell which restart separates the factors?

    Every restart of a ``beta-vae`` is one point, stopped after 20, 60 or 100 % of the training in turn. ``dsprites`` is
    the published data set; ``blobs16``, a spot with nearly equal widths, shows the same within minutes.
    """
    if data not in ("dsprites", "blobs16"):
        raise unknown_name("data set of the agreement", data, ("dsprites", "blobs16"))
    _check(steps, scale)
    for seed in seed_list(seeds):
        share = STOPS[seed % len(STOPS)]
        if data == "dsprites":
            plan = preset(data)
            whole = steps or plan.steps(plan.small_epochs if scale == "small" else None)
            yield _trial(plan, "beta-vae", folder, max(1, round(share * whole)), seed, stopped=share)
            continue
        chosen = max(1, round(share * (steps or 2500)))
        setting = {"data": data, "model": "beta-vae", "stopped": share, "steps": chosen, "seed": seed}
        yield Trial(f"blobs16-beta-vae-{chosen}-seed{seed}", setting, partial(_blobs, chosen, seed))


def _check(steps: int | None, scale: str) -> None:
    if steps is not None and steps < 1:
        raise UsageError(f"steps must be at least 1, got {steps}")
    if scale not in ("small", "paper"):
        raise unknown_name("scale", scale, ("small", "paper"))


def _trial(plan: Preset, model: str, folder: Path, steps: int, seed: int, **options: float) -> Trial:
    objective = plan.objective(model)
    setting = {
        "data": plan.data,
        **options,
        "model": model,
        "latents": plan.latents,
        "beta": getattr(objective, "beta", None),
        "optimizer": plan.optimizer,
        "steps": steps,
        "seed": seed,
    }
    name = f"{plan.data}-{model}-{steps}-seed{seed}" if options else f"{plan.data}-{model}-seed{seed}"
    return Trial(name, setting, partial(_train_and_judge, plan, model, folder, name, steps, seed))


def _train_and_judge(plan: Preset, model: str, folder: Path, name: str, steps: int, seed: int) -> dict[str, Any]:
    seen, unseen = _parts(plan.data, folder)
    objective = plan.objective(model)
    if not steps:
        return fit(objective, unseen.part(slice(0, 1000)), steps=0, seed=seed).to_row(seed=seed)
    place = folder / "runs" / name
    run = train(objective, seen, out=place, steps=steps, seed=seed, batch_size=BATCH_SIZE, progress="none")
    if not run.finished:
        raise KeyboardInterrupt
    return judge(run, unseen, seed=seed).to_row(seed=seed)


def _parts(data: str, folder: Path) -> tuple[Dataset, Dataset]:
    """What models are trained on and what they are judged on."""
    if data != "dsprites":
        return load(data, split="train"), load(data, split="test")
    whole = load(data)
    order = np.random.default_rng(0).permutation(len(whole))
    first, last = int(0.8 * len(whole)), int(0.9 * len(whole))  # the tenth between them is for choices
    kept = folder / "dsprites-train.npy"
    seen = load(data, part=str(kept)) if kept.exists() else whole.part(np.sort(order[:first])).save(kept)
    return seen, whole.part(order[last:])


def judge(run: Run, data: Dataset, *, images: int = 2000, seed: int = 0) -> Fitted:
    """A run as the studies see models: codes and posteriors of some images, Jacobians of the mean image at 256."""
    index = np.random.default_rng(seed).choice(len(data), min(images, len(data)), replace=False)
    pixels = data.images(index)
    found = run.describe(pixels, seed=seed)
    codes = run.encode(pixels).astype(np.float64)
    flat = np.moveaxis(pixels.astype(np.float64) / 255, -1, 1).reshape(len(index), -1)
    return Fitted(
        run.model,
        data.factors(index) if data.has_factors else None,
        flat,
        codes,
        polarisation(codes, found["logvar"]) if "logvar" in found else None,
        decoder_jacobian(decoder_of(run), codes[:256]),
        kinds=data.factor_kinds if data.has_factors else None,
    )


def _blobs(steps: int, seed: int) -> dict[str, Any]:
    objective = BetaVAE(beta=0.3, net=BLOBS, latents=2, likelihood="gaussian", learning_rate=1e-3)
    return fit(objective, Blobs(1.4, 1.6), steps=steps, polish=steps // 4, seed=seed).to_row(seed=seed)


def agreement(rows: Sequence[dict[str, Any]]) -> tuple[float, int]:
    """Rank correlation of distance and score over the restarts that have both, and how many these are."""
    from scipy.stats import spearmanr

    pairs = [(row["distance"], row["ds"]) for row in rows if row["distance"] is not None and row["ds"] is not None]
    if len(pairs) < 3:
        raise UsageError(f"a correlation needs at least three restarts with a distance and a score, got {len(pairs)}")
    return float(spearmanr(*zip(*pairs, strict=True)).statistic), len(pairs)

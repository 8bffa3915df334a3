"""How fast a model learns which factor: what its codes know, again and again during training."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from unbraid.data import ImageDataset, counter_rng
from unbraid.errors import UsageError
from unbraid.evaluation.factors_told import told_by_factor
from unbraid.evaluation.summary import ACTIVE
from unbraid.metrics import mig, r2

if TYPE_CHECKING:
    import polars

    from unbraid.training import Hook, Moment, Run

__all__ = ["learning_curve", "learning_hook"]

MILLISECONDS = "milliseconds"
"""The name of a row's CPU time per step."""


def learning_hook(data: ImageDataset, *, every: int = 500, images: int = 6000, seed: int = 0) -> Hook:
    """Record during training what the codes know of each factor, into ``evaluations.csv``.

    ``r2_FACTOR`` is the share of a factor's variance that the ten nearest codes tell (``r2`` their mean), of a
    categorical factor that of its indicators; ``accuracy_FACTOR`` is how often they name its value. ``mig`` is the
    mutual information gap, ``active`` the number of latents with more than 0.01 nats, ``milliseconds`` the CPU time of
    this process per step since the last row, what is measured here left out. A third of the images is held out.
    """
    from unbraid.training import Hook

    if not data.has_factors:
        raise UsageError(f"learning curves ask for known factors, and {data.name!r} has none; try sprites32")
    if images < 30:
        raise UsageError(f"images must be at least 30, got {images}")
    rng = counter_rng(seed, 0)
    index = data.sample_index(images, rng)
    pixels, factors = data.images(index, rng), data.factors(index)
    clock = _Clock()

    def call(moment: Moment) -> dict[str, float]:
        spent = clock.per_step(moment.step)
        codes, kl = _codes(moment, pixels)
        known = r2(codes, factors, kinds=data.factor_kinds, reader="neighbours", seed=seed)
        found = {"r2": float(known), **told_by_factor(known, data.factor_names)}
        if data.factor_sizes is not None:
            found["mig"] = float(mig(codes, factors))
        if kl is not None:
            found["active"] = float((kl > ACTIVE).sum())
        found[MILLISECONDS] = spent
        clock.begin(moment.step)
        return found

    return Hook(call, every, clock.begin)


def learning_curve(run: Run) -> polars.DataFrame:
    """What :func:`learning_hook` recorded, a row per step, with ``seconds``: CPU time of training until then."""
    import polars as pl

    rows = run.evaluations()
    if not len(rows) or MILLISECONDS not in set(rows["name"]):
        raise UsageError(f"{run.path} has no learning curve; train with --watch learning, or `watch = 500` in a study")
    names = rows["name"].unique(maintain_order=True).to_list()
    wide = rows.pivot("name", index="step", values="value").sort("step").select("step", *names)
    seconds = (pl.col(MILLISECONDS) * pl.col("step").diff().fill_null(pl.col("step")) / 1000).cum_sum()
    return wide.select("step", seconds.alias("seconds"), pl.exclude("step", MILLISECONDS))


class _Clock:
    """CPU time per step, from where training began or was last looked at."""

    def __init__(self) -> None:
        self.step, self.start = 0, time.process_time()

    def begin(self, step: int) -> None:
        self.step, self.start = step, time.process_time()

    def per_step(self, step: int) -> float:
        return 1000 * (time.process_time() - self.start) / max(step - self.step, 1)


def _codes(moment: Moment, pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Mean codes, and the mean KL divergence of each latent where there is a posterior."""
    import torch

    from unbraid.nets import Autoencoder
    from unbraid.objectives import VAEObjective
    from unbraid.training import numerics

    codes, kl = [], []
    with torch.no_grad(), numerics.autocast(moment.device, "fp32"):
        for start in range(0, len(pixels), 500):
            batch = numerics.to_tensor(pixels[start : start + 500], moment.device)
            if isinstance(moment.objective, VAEObjective) and isinstance(moment.model, Autoencoder):
                posterior = moment.objective.posterior(moment.model, batch)
                codes.append(posterior.mean)
                kl.append(posterior.kl_per_latent())
            else:
                codes.append(moment.objective.encode(moment.model, batch))
    mean_kl = torch.cat(kl).mean(0).cpu().numpy() if kl else None
    return torch.cat(codes).cpu().numpy(), mean_kl

"""The practitioner's rule for beta: raise it until the first latent switches off (Zietlow et al., 2021)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from unbraid import nets
from unbraid.data import ImageDataset, Purpose, as_floats, counter_rng, make_stream
from unbraid.errors import UsageError
from unbraid.objectives import VAEObjective
from unbraid.theory.alignment import principal_components
from unbraid.theory.polarised import Polarisation, polarisation_of
from unbraid.training import Loop, Moment, numerics, problem_of

__all__ = ["BetaRange", "BetaStage", "beta_range", "linear_betas"]

_DECADE_HALF = np.sqrt(10)


@dataclass(frozen=True)
class BetaStage:
    """The model after some steps at one beta."""

    beta: float
    seen: Polarisation

    @property
    def active(self) -> int:
        """Latents with a mean posterior variance below 0.8."""
        return len(self.seen.active_by_variance)


@dataclass(frozen=True)
class BetaRange:
    """What was seen while beta rose."""

    stages: tuple[BetaStage, ...]
    latents: int
    wanted: int | None
    """How many latents should stay active: the number of factors, if known."""

    @property
    def entry(self) -> float | None:
        """The first beta at which a latent is switched off: entry to the polarised regime."""
        return next((stage.beta for stage in self.stages if stage.active < self.latents), None)

    @property
    def pruned(self) -> float | None:
        """The first beta at which fewer latents are active than there are factors."""
        if self.wanted is None:
            return None
        return next((stage.beta for stage in self.stages if stage.active < min(self.wanted, self.latents)), None)

    @property
    def proposed(self) -> tuple[float, float] | None:
        """The range to search; ``None`` if no latent was switched off, or too many (or all) from the start.

        It ends at the last beta that keeps as many latents as there are factors (half a decade above the entry if their
        number is unknown) and begins at the entry, or half a decade below the end.
        """
        if self.entry is None or not self.stages[0].active:
            return None
        if self.wanted is None:
            return self.entry / _DECADE_HALF, self.entry * _DECADE_HALF
        kept = [stage.beta for stage in self.stages if self.pruned is None or stage.beta < self.pruned]
        return (min(self.entry, kept[-1] / _DECADE_HALF), kept[-1]) if kept else None

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and lists."""
        return {
            "entry": self.entry,
            "pruned": self.pruned,
            "proposed": self.proposed,
            "latents": self.latents,
            "wanted": self.wanted,
            "stages": [
                {
                    "beta": stage.beta,
                    "active": stage.active,
                    "kl_error": stage.seen.kl_error,
                    "variance": stage.seen.variance.tolist(),
                }
                for stage in self.stages
            ],
        }


def beta_range(
    objective: VAEObjective,
    data: ImageDataset,
    *,
    betas: Sequence[float] | None = None,
    steps: int = 500,
    wanted: int | None = None,
    batch_size: int = 64,
    seed: int = 0,
    device: str = "auto",
    tell: Callable[[BetaStage], None] | None = None,
) -> BetaRange:
    """Train one model while beta rises from stage to stage, and watch the mean posterior variances.

    Each stage takes ``steps`` steps, the first three times as many. ``betas`` default to ten values around those at
    which a linear model would switch latents off (:func:`linear_betas`). ``wanted`` defaults to the number of factors
    of a data set that has them. ``tell`` is called after each stage.
    """
    if not hasattr(objective, "beta"):
        raise UsageError(f"objective {objective.name!r} has no option beta to raise; use beta-vae")
    if steps < 1:
        raise UsageError(f"steps must be at least 1, got {steps}")
    if wanted is None and data.has_factors:
        wanted = len(data.factor_names)
    if betas is None:
        found = linear_betas(data, objective.latents, likelihood=objective.likelihood, seed=seed)
        found = objective.weight(data.shape[:2]) * found
        betas = np.geomspace(found[-1] / 10, found[0], 10).tolist()
    rising = sorted(float(beta) for beta in betas)
    if len(rising) < 2 or not rising[0] > 0:
        raise UsageError(f"betas must be two or more positive numbers, got {list(betas)}")
    numerics.setup()
    where = numerics.device(device)
    generator = torch.Generator().manual_seed(int(counter_rng(seed, 0, Purpose.INIT).integers(2**63)))
    model = objective.build(problem_of(data), generator)
    loop = Loop(objective, model, make_stream(objective.needs, data, batch_size, seed), seed, where)
    rng = counter_rng(seed, 0)
    pixels = data.images(data.sample_index(512, rng), rng)
    stages: list[BetaStage] = []
    for beta in rising:
        loop.objective = dataclasses.replace(objective, beta=beta)  # type: ignore[call-arg]
        for _ in range(steps if stages else 3 * steps):
            loop.advance()
        stages.append(BetaStage(beta, polarisation_of(Moment(loop.step, loop.objective, model, where), pixels)))
        if tell is not None:
            tell(stages[-1])
    return BetaRange(tuple(stages), objective.latents, wanted)


def linear_betas(
    data: ImageDataset, latents: int, *, likelihood: str = "gaussian", images: int = 1000, seed: int = 0
) -> np.ndarray:
    """The beta at which a linear VAE switches off each latent, largest first: twice the variance along it.

    That is for squared errors; a gaussian of standard deviation s divides them, and so the values, by 2 s^2.
    For a bernoulli likelihood, pixels are weighted by the curvature of the cross-entropy at the mean image. Real
    networks keep a latent longer, as they put more into it than a line can.
    """
    rng = counter_rng(seed, 0)
    flat = as_floats(data.images(data.sample_index(images, rng), rng)).reshape(images, -1)
    law = nets.likelihood(likelihood)
    if isinstance(law, nets.Bernoulli):
        mean = np.clip(flat.mean(axis=0), 0.01, 0.99)
        flat = (flat - mean) / np.sqrt(2 * mean * (1 - mean))
    variances = principal_components(flat, min(latents, flat.shape[1])).variances
    weight = 1 / (2 * law.scale**2) if isinstance(law, nets.GaussianPixels) else 1.0
    return 2 * weight * variances[variances > 1e-6 * variances[0]]

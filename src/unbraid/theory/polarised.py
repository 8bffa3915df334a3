"""Which latents a VAE uses, and how far it is in the polarised regime (Rolinek et al., 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from unbraid.data import ImageDataset, counter_rng
from unbraid.errors import UsageError
from unbraid.nets import Autoencoder
from unbraid.objectives import VAEObjective
from unbraid.training import Hook, Moment, numerics

__all__ = [
    "POLARISED",
    "SPREAD",
    "VARIANCE",
    "Polarisation",
    "polarisation",
    "polarisation_hook",
    "polarisation_of",
    "polarised_share",
]

SPREAD = 0.5
"""A latent is active when its mean code has at least this standard deviation over images (Rolinek et al., 2019)."""
VARIANCE = 0.8
"""A latent is active when its posterior variance is below this (Zietlow et al., 2021)."""
POLARISED = 0.03
"""Relative error of the simplified KL below which a model counts as polarised."""
_ALWAYS = 0.95
"""Share of images for which a latent must pass (or fail) the variance test not to be mixed."""


@dataclass(frozen=True)
class Polarisation:
    """What posteriors over many images say; arrays run over latents."""

    spread: np.ndarray
    """Standard deviation of the posterior mean over images."""
    variance: np.ndarray
    """Mean posterior variance."""
    precision: np.ndarray
    """Mean of ``-log sigma^2``: what is spent on each latent of the precision budget."""
    share: np.ndarray
    """Share of images whose posterior variance is below 0.8."""
    kl: float
    """Mean KL divergence to the prior, in nats."""
    simplified_kl: float
    """``1/2 sum over active (mu^2 - log sigma^2 - 1)``, which the theory puts in its place."""

    @property
    def active(self) -> np.ndarray:
        """Latents whose code moves with the image (spread test)."""
        return np.flatnonzero(self.spread > SPREAD)

    @property
    def active_by_variance(self) -> np.ndarray:
        """Latents that are less noisy than the prior (variance test)."""
        return np.flatnonzero(self.variance < VARIANCE)

    @property
    def disputed(self) -> np.ndarray:
        """Latents on which the two tests disagree."""
        return np.setxor1d(self.active, self.active_by_variance)

    @property
    def kinds(self) -> tuple[str, ...]:
        """``active``, ``passive``, or ``mixed``: active for some images only (Bonheme & Grzes, 2021)."""
        kinds = np.where(self.share >= _ALWAYS, "active", np.where(self.share <= 1 - _ALWAYS, "passive", "mixed"))
        return tuple(kinds.tolist())

    @property
    def order(self) -> np.ndarray:
        """Latents by mean posterior variance, smallest first: the analogue of sorting components by variance."""
        return np.argsort(self.variance, kind="stable")

    @property
    def kl_error(self) -> float:
        """Relative error of the simplified KL."""
        return abs(self.kl - self.simplified_kl) / self.kl if self.kl > 0 else 0.0

    @property
    def polarised(self) -> bool:
        """Whether that error is below 3 %."""
        return self.kl_error < POLARISED

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and lists."""
        return {
            "kinds": list(self.kinds),
            "spread": self.spread.tolist(),
            "variance": self.variance.tolist(),
            "precision": self.precision.tolist(),
            "active": self.active.tolist(),
            "active_by_variance": self.active_by_variance.tolist(),
            "disputed": self.disputed.tolist(),
            "kl": self.kl,
            "simplified_kl": self.simplified_kl,
            "kl_error": self.kl_error,
            "polarised": self.polarised,
        }


def polarisation(mean: ArrayLike, logvar: ArrayLike) -> Polarisation:
    """Judge the posteriors ``N(mean, exp(logvar))`` of many images, both ``[n, d]``.

    >>> seen = polarisation([[-1.0, 0.0], [1.0, 0.0]], [[-4.0, 0.0], [-4.0, 0.0]])
    >>> seen.kinds, round(seen.kl - seen.simplified_kl, 4)
    (('active', 'passive'), 0.0092)
    """
    mu, log = np.asarray(mean, dtype=np.float64), np.asarray(logvar, dtype=np.float64)
    if mu.ndim != 2 or mu.shape != log.shape or len(mu) < 2:
        raise UsageError(f"mean and logvar must both be [n, d] with at least 2 rows, got {mu.shape} and {log.shape}")
    variance = np.exp(log)
    spread = mu.std(axis=0)
    active = spread > SPREAD
    return Polarisation(
        spread,
        variance.mean(axis=0),
        -log.mean(axis=0),
        (variance < VARIANCE).mean(axis=0),
        float(0.5 * (mu**2 + variance - log - 1).sum(axis=1).mean()),
        float(0.5 * (mu**2 - log - 1)[:, active].sum(axis=1).mean()),
    )


def polarisation_of(moment: Moment, images: np.ndarray) -> Polarisation:
    """Judge a model as it is during training, on uint8 images; only the encoder runs."""
    if not isinstance(moment.objective, VAEObjective) or not isinstance(moment.model, Autoencoder):
        raise UsageError(f"objective {moment.objective.name!r} has no posterior to judge")
    with torch.no_grad(), numerics.autocast(moment.device, "fp32"):
        posterior = moment.objective.posterior(moment.model, numerics.to_tensor(images, moment.device))
    return polarisation(posterior.mean.cpu().numpy(), posterior.logvar.cpu().numpy())


def polarisation_hook(data: ImageDataset, *, images: int = 512, every: int = 500, seed: int = 0) -> Hook:
    """Record ``kl_error``, ``active`` and ``active_by_variance`` during training, in ``evaluations.csv``.

    ``passive`` and ``mixed`` count the latents that are off for nearly all images, and for some of them.
    The same images are encoded each time, nothing is decoded.
    """
    if images < 2:
        raise UsageError(f"images must be at least 2, got {images}")
    rng = counter_rng(seed, 0)
    pixels = data.images(data.sample_index(images, rng), rng)

    def call(moment: Moment) -> dict[str, float]:
        found = polarisation_of(moment, pixels)
        return {
            "kl_error": found.kl_error,
            "active": len(found.active),
            "active_by_variance": len(found.active_by_variance),
            "passive": found.kinds.count("passive"),
            "mixed": found.kinds.count("mixed"),
        }

    return Hook(call, every)


def polarised_share(errors: Sequence[float] | np.ndarray) -> float:
    """The share of training, counted back from the end, over which ``kl_error`` stayed below 3 % without a break.

    ``errors`` are measured at equal distances, as :func:`polarisation_hook` does.

    >>> polarised_share([0.5, 0.01, 0.2, 0.02, 0.01])
    0.4
    """
    outside = np.flatnonzero(~(np.asarray(errors, dtype=np.float64) < POLARISED))
    if len(errors) == 0:
        raise UsageError("errors is empty: nothing was measured")
    return float(1 - (outside[-1] + 1) / len(errors)) if len(outside) else 1.0

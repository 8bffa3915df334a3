"""What a run reached, judged without labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unbraid.data import ImageDataset, counter_rng
from unbraid.errors import UsageError
from unbraid.evaluation.base import Measure, Row, register
from unbraid.evaluation.models import describes
from unbraid.metrics import Score

if TYPE_CHECKING:
    from unbraid.training import Run

__all__ = ["ACTIVE", "Summary", "SummaryMeasure", "summarise"]

ACTIVE = 0.01
"""A latent is active when its KL divergence to the prior is above this many nats on average (Duan et al., 2020)."""


@dataclass(frozen=True)
class Summary:
    """Means over images drawn from a data set; in nats, summed over pixels and latents."""

    images: int
    reconstruction: float | None
    """Negative log-likelihood of the image given a sampled code; ``None`` for a model that does not decode."""
    kl_per_latent: np.ndarray | None
    """Mean KL divergence of each latent to the prior; ``None`` for a model without a posterior."""

    @property
    def kl(self) -> float | None:
        return None if self.kl_per_latent is None else float(self.kl_per_latent.sum())

    @property
    def elbo(self) -> float | None:
        """Lower bound of the log-likelihood."""
        return None if self.kl is None or self.reconstruction is None else -(self.reconstruction + self.kl)

    @property
    def active(self) -> list[int] | None:
        """Latents that carry something, most first."""
        if self.kl_per_latent is None:
            return None
        return [int(j) for j in np.argsort(-self.kl_per_latent, kind="stable") if self.kl_per_latent[j] > ACTIVE]

    @classmethod
    def from_scores(cls, scores: Mapping[str, Any], images: int) -> Summary:
        """The summary behind what the measure ``summary`` gives."""
        reconstruction, kl = scores.get("reconstruction"), scores.get("kl")
        return cls(
            images,
            None if reconstruction is None else float(reconstruction),
            None if kl is None else np.asarray(kl.parts["per_latent"], dtype=np.float64),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "images": self.images,
            "reconstruction": self.reconstruction,
            "kl": self.kl,
            "elbo": self.elbo,
            "kl_per_latent": None if self.kl_per_latent is None else [float(v) for v in self.kl_per_latent],
            "active": self.active,
        }


def summarise(run: Run, data: ImageDataset, *, images: int = 2000, seed: int = 0) -> Summary:
    """Reconstruction and KL of a run on images drawn from a data set."""
    if images < 1:
        raise UsageError(f"images must be at least 1, got {images}")
    rng = counter_rng(seed, 0)
    found = run.describe(data.images(data.sample_index(images, rng), rng), seed=seed)
    reconstruction, kl = found.get("reconstruction"), found.get("kl_per_latent")
    return Summary(
        images,
        None if reconstruction is None else float(reconstruction.mean(dtype=np.float64)),
        None if kl is None else kl.mean(axis=0, dtype=np.float64),
    )


@register("summary")
@dataclass(frozen=True)
class SummaryMeasure(Measure):
    """Reconstruction, KL and active latents on images drawn from the data."""

    title = "Reconstruction and KL"
    titles: ClassVar[Mapping[str, str]] = {"active": "Active latents"}
    needs = "a model that judges images without labels"
    images: int = 2000
    """How many are drawn."""

    def applies(self, run: Run, data: ImageDataset) -> bool:
        return describes(run) and run.can("encode")

    def rows(self, run: Run, data: ImageDataset, seed: int) -> Iterator[Row]:
        found = summarise(run, data, images=self.images, seed=seed)
        scores: dict[str, Score | float] = {}
        if found.reconstruction is not None:
            scores["reconstruction"] = found.reconstruction
        if found.kl is not None:
            scores["kl"] = Score("kl", found.kl, parts={"per_latent": found.kl_per_latent})
            scores["active"] = float(len(found.active or ()))
        if found.elbo is not None:
            scores["elbo"] = found.elbo
        if scores:
            yield {}, scores

"""Unsupervised disentanglement ranking as a measure over runs that differ in the seed alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from unbraid.data import counter_rng
from unbraid.errors import UsageError
from unbraid.evaluation.base import GroupMeasure, Scores, register
from unbraid.evaluation.models import Function
from unbraid.metrics import udr

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.training import Run

__all__ = ["UDR", "shared_codes"]


@register("udr")
@dataclass(frozen=True)
class UDR(GroupMeasure):
    """How far runs that differ in the seed alone agree, code by code (Duan et al., 2020)."""

    title = "UDR"
    needs = "models that encode, at least two that differ in the seed alone"
    images: int = 1000
    """Images on which the runs are compared."""
    kind: Literal["lasso", "spearman"] = "lasso"

    def __post_init__(self) -> None:
        if self.images < 2:
            raise UsageError(f"images must be at least 2, got {self.images}")

    def applies(self, run: Run, data: ImageDataset) -> bool:
        return run.can("encode")

    def share(self, run: Run, data: ImageDataset, seed: int) -> dict[str, np.ndarray]:
        codes, kl = shared_codes(run, data, images=self.images, seed=seed)
        return {"codes": codes} if kl is None else {"codes": codes, "kl": kl}

    def compare(self, shares: Sequence[Mapping[str, np.ndarray]], seed: int) -> list[Scores]:
        kl = [share["kl"] for share in shares if "kl" in share]
        codes = [share["codes"] for share in shares]
        found = udr(codes, kl if len(kl) == len(codes) else None, kind=self.kind, seed=seed)
        return [{"udr": float(value)} for value in found.parts["per_model"]]


def shared_codes(run: Run, data: ImageDataset, *, images: int, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Mean codes ``[n, d]`` of images that are the same for all runs on this data, and the mean KL of each code."""
    if images < 2:
        raise UsageError(f"images must be at least 2, got {images}")
    rng = counter_rng(seed, 1)
    pixels = data.images(data.sample_index(images, rng), rng)
    found = {} if isinstance(run, Function) else run.describe(pixels, seed=seed)
    codes = found["mean"] if "mean" in found else run.encode(pixels)
    kl = found.get("kl_per_latent")
    return codes.astype(np.float32), None if kl is None else kl.mean(axis=0, dtype=np.float64)

"""Train an objective on a toy world and see whether it finds the latents behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unbraid.data import Purpose, counter_rng
from unbraid.errors import UsageError
from unbraid.objectives import Objective, Problem
from unbraid.theory.toys import Toy

__all__ = ["Found", "fit_toy", "matched_correlation"]


@dataclass(frozen=True)
class Found:
    """What an objective made of a toy world."""

    codes: np.ndarray
    """Mean code ``[n, d]`` of the first of each pair."""
    deviation: np.ndarray | None
    """Mean posterior standard deviation of each latent; ``None`` for models without posterior."""
    pearson: float
    """Mean correlation of matched codes and latents."""
    spearman: float
    loss: float
    """Mean over the last tenth of the steps."""

    @property
    def spread(self) -> np.ndarray:
        """Standard deviation of each mean code; near 0 for a collapsed latent, whose posterior is the prior's."""
        return self.codes.std(axis=0)

    def to_json(self) -> dict[str, Any]:
        return {
            "pearson": self.pearson,
            "spearman": self.spearman,
            "loss": self.loss,
            "spread": self.spread.tolist(),
            "deviation": None if self.deviation is None else self.deviation.tolist(),
        }


def matched_correlation(codes: np.ndarray, latents: np.ndarray, *, rank: bool = False) -> float:
    """Mean absolute correlation of codes ``[n, d]`` and true latents ``[n, K]`` under the best one-to-one assignment.

    The mean correlation coefficient (MCC) for latents on a continuum; with ``rank`` by Spearman's correlation. A
    constant code correlates with nothing.
    """
    from scipy.optimize import linear_sum_assignment
    from scipy.stats import rankdata

    if rank:
        codes, latents = rankdata(codes, axis=0), rankdata(latents, axis=0)
    centred = [x - x.mean(axis=0) for x in (codes, latents)]
    lengths = [np.linalg.norm(x, axis=0) for x in centred]
    units = [x / np.where(length > 0, length, 1) for x, length in zip(centred, lengths, strict=True)]
    table = np.abs(units[0].T @ units[1])
    return float(table[linear_sum_assignment(table, maximize=True)].sum() / latents.shape[1])


def fit_toy(objective: Objective, toy: Toy, *, steps: int, batch_size: int = 256, seed: int = 0) -> Found:
    """Train on pairs of vectors, taken as images of one row, and compare the codes with the true latents.

    ``batch_size`` 0 takes all pairs in every step.
    """
    import torch

    from unbraid.training import Loop, MemoryStream

    if steps < 1 or batch_size < 0:
        raise UsageError(f"steps must be positive and batch_size not negative, got {steps} and {batch_size}")
    first, second = (torch.from_numpy(x.astype(np.float32))[:, None, None] for x in (toy.seen, toy.later_seen))
    generator = torch.Generator().manual_seed(int(counter_rng(seed, 0, Purpose.INIT).integers(2**62)))
    model = objective.make_model(Problem((1, first.shape[-1], 1), len(first)), generator)
    stream = MemoryStream(first, batch_size, seed, partners=second)
    loop = Loop(objective, model, stream, seed, torch.device("cpu"), precision="fp32")
    for step in range(steps):
        if step == steps - max(1, steps // 10):
            loop.means.take()
        loop.advance()
    with torch.no_grad():
        codes = objective.encode(model, first).double().numpy()
        logvar = objective.describe(model, first, generator).get("logvar")
    return Found(
        codes,
        None if logvar is None else (0.5 * logvar).exp().mean(0).double().numpy(),
        matched_correlation(codes, toy.latents),
        matched_correlation(codes, toy.latents, rank=True),
        loop.means.current()["loss"],
    )

"""How measured factors move: fitted laws of their steps and the dependence between them (Klindt et al., 2021)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbraid.data.motion.laplace import GeneralizedLaplace
from unbraid.data.motion.tracks import Tracks
from unbraid.errors import UsageError

__all__ = ["Dependence", "TransitionFit", "dependence", "fit_increments", "fit_transitions"]


@dataclass(frozen=True)
class TransitionFit:
    """Three laws fitted by maximum likelihood to the steps of one factor."""

    factor: str
    max_gap: int
    pairs: int
    general: GeneralizedLaplace
    laplace: GeneralizedLaplace
    normal: GeneralizedLaplace
    log_likelihood: dict[str, float]
    """Summed over all pairs, by law."""
    kurtosis: float
    """Excess kurtosis of the steps; above that of the fitted law when the tails are heavier still."""

    @property
    def deviation(self) -> float:
        """Standard deviation of the steps."""
        return float(np.sqrt(self.normal.variance))

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return {
            "factor": self.factor,
            "max_gap": self.max_gap,
            "pairs": self.pairs,
            "alpha": self.general.alpha,
            "loc": self.general.loc,
            "scale": self.general.scale,
            "normal": {"loc": self.normal.loc, "deviation": self.deviation},
            "laplace": {"loc": self.laplace.loc, "scale": self.laplace.scale},
            "log_likelihood": self.log_likelihood,
            "kurtosis": self.kurtosis,
            "kurtosis_of_fit": self.general.kurtosis,
        }


def fit_increments(increments: np.ndarray, factor: str = "", max_gap: int = 1) -> TransitionFit:
    """Fit the generalized Laplace, Laplace and normal laws to steps ``[pairs]``."""
    general = GeneralizedLaplace.fit(increments)
    median, mean = float(np.median(increments)), float(increments.mean())
    centred = increments - mean
    variance = float((centred**2).mean())
    laplace = GeneralizedLaplace.from_scale(1.0, float(np.abs(increments - median).mean()), median)
    normal = GeneralizedLaplace.from_scale(2.0, float(np.sqrt(2 * variance)), mean)
    laws = {"general": general, "laplace": laplace, "normal": normal}
    return TransitionFit(
        factor,
        max_gap,
        len(increments),
        general,
        laplace,
        normal,
        {name: float(law.log_prob(increments).sum()) for name, law in laws.items()},
        float((centred**4).mean() / variance**2 - 3),
    )


def fit_transitions(
    tracks: Tracks, gaps: Sequence[int] = (1,), *, pairs: int | None = None, seed: int = 0
) -> list[TransitionFit]:
    """One fit per factor and gap; a gap g takes every pair 1..g frames apart with equal chance.

    ``pairs`` limits the number of pairs that are used, drawn at random.
    """
    found = []
    for gap in gaps:
        rng = np.random.default_rng(seed)
        increments = tracks.increments(gap, rng)
        if pairs is not None and pairs < len(increments):
            increments = increments[rng.choice(len(increments), pairs, replace=False)]
        found += [fit_increments(increments[:, k], name, gap) for k, name in enumerate(tracks.names)]
    return found


@dataclass(frozen=True)
class Dependence:
    """How the steps of different factors go together; matrices ``[K, K]``."""

    names: tuple[str, ...]
    correlation: np.ndarray
    """Of the steps."""
    size_correlation: np.ndarray
    """Of their absolute values: whether factors move at the same time."""
    information: np.ndarray
    """Mutual information of two factors' steps in nats, from equally filled bins, corrected for their number."""

    def to_json(self) -> dict[str, Any]:
        """Plain lists."""
        return {
            "factors": list(self.names),
            "correlation": self.correlation.tolist(),
            "size_correlation": self.size_correlation.tolist(),
            "information": self.information.tolist(),
        }


def dependence(increments: np.ndarray, names: Sequence[str], bins: int = 16) -> Dependence:
    """Dependence between the columns of steps ``[pairs, K]``; that of ``tracks.permuted(rng)`` is the control."""
    if increments.ndim != 2 or increments.shape[1] != len(names) or len(increments) < 10 * bins**2:
        raise UsageError(
            f"increments must be [pairs, {len(names)}] with at least {10 * bins**2} pairs, got {increments.shape}"
        )
    codes = np.stack([_bin(column, bins) for column in increments.T])
    count = len(names)
    information = np.zeros((count, count))
    for i in range(count):
        for j in range(count):
            information[i, j] = _information(codes[i], codes[j])
    return Dependence(tuple(names), np.corrcoef(increments.T), np.corrcoef(np.abs(increments).T), information)


def _bin(column: np.ndarray, bins: int) -> np.ndarray:
    edges = np.unique(np.quantile(column, np.linspace(0, 1, bins + 1)[1:-1]))
    return np.searchsorted(edges, column, side="right")


def _information(first: np.ndarray, second: np.ndarray) -> float:
    joint = np.bincount(first * (second.max() + 1) + second).astype(float)
    joint = np.pad(joint, (0, (first.max() + 1) * (second.max() + 1) - len(joint)))
    joint = joint.reshape(first.max() + 1, second.max() + 1) / len(first)
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    filled = joint > 0
    raw = float((joint[filled] * np.log(joint[filled] / independent[filled])).sum())
    # Of independent columns the estimate is (rows - 1)(columns - 1) / 2n too high in the mean.
    return raw - (joint.shape[0] - 1) * (joint.shape[1] - 1) / (2 * len(first))

"""Is the law kept and everything mixed? The tests that make the impossibility theorem visible on a sample."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError
from unbraid.metrics import gaussian_total_correlation
from unbraid.theory.bijection import Bijection

__all__ = ["DEPENDENT", "Check", "DependenceWarning", "binned_sources", "check", "sample_marginals"]

DEPENDENT = 0.05
"""Total correlation in nats above which coordinates no longer pass for independent."""


class DependenceWarning(UserWarning):
    """The coordinates depend on each other, so the bijection keeps their marginals at best, not their joint law."""


@dataclass(frozen=True)
class Check:
    """What became of a sample under a bijection; lists run over dimensions."""

    points: int
    ks_before: np.ndarray
    """Kolmogorov-Smirnov distance of each input coordinate to its marginal law."""
    ks: np.ndarray
    """The same of each output coordinate; small when the law was kept."""
    p_values: np.ndarray
    """Chance of such a distance, or a larger one, if the law were kept exactly."""
    correlation: float
    """Largest correlation of two output coordinates, without its sign."""
    total_correlation_before: float
    """Gaussian total correlation of the inputs, in nats."""
    total_correlation: float
    """Gaussian total correlation of the outputs, in nats."""
    smallest_derivative: float
    """Smallest ``|df_i / du_j|`` over all points, outputs and inputs: above zero, everything depends on everything."""
    median_derivative: float
    """Median of ``|df_i / du_j|``."""
    inverse_error: float
    """Largest difference between u and ``f^-1(f(u))``."""

    @property
    def independent(self) -> bool:
        """Whether the inputs pass for independent, which the theorem asks for."""
        return self.total_correlation_before <= DEPENDENT

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and lists."""
        record = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in record.items()}


def check(f: Bijection, points: ArrayLike) -> Check:
    """Test on points ``[n, d]`` that f keeps their law, mixes all coordinates and can be undone.

    Warns (:class:`DependenceWarning`) when the points' total correlation exceeds 0.05 nats: f keeps the joint law of
    independent coordinates only.
    """
    from scipy.stats import kstest

    inputs = np.asarray(points, dtype=np.float64)
    if inputs.ndim != 2 or len(inputs) < 8:
        raise UsageError(f"points must be [n, {f.dimensions}] with at least 8 rows, got shape {inputs.shape}")
    outputs = f(inputs)
    before = float(gaussian_total_correlation(inputs))
    if before > DEPENDENT:
        warnings.warn(
            f"the coordinates are dependent (total correlation {before:.3f} nats, above {DEPENDENT}): "
            "the joint law is not kept, only its normal part is turned",
            DependenceWarning,
            stacklevel=2,
        )
    tests = [kstest(column, "norm") for column in f.to_normal(outputs).T]
    derivatives = np.abs(f.jacobian(inputs))
    return Check(
        points=len(inputs),
        ks_before=np.array([kstest(column, "norm").statistic for column in f.to_normal(inputs).T]),
        ks=np.array([test.statistic for test in tests]),
        p_values=np.array([test.pvalue for test in tests]),
        correlation=_largest_correlation(outputs),
        total_correlation_before=before,
        total_correlation=float(gaussian_total_correlation(outputs)),
        smallest_derivative=float(derivatives.min()),
        median_derivative=float(np.median(derivatives)),
        inverse_error=float(np.abs(f.inverse(outputs) - inputs).max()),
    )


def sample_marginals(f: Bijection, points: int, seed: int = 0) -> np.ndarray:
    """Independent draws ``[points, d]`` from the marginals of f: what the theorem calls the disentangled sources."""
    return f.from_normal(np.random.default_rng(seed).standard_normal((points, f.dimensions)))


def binned_sources(f: Bijection, points: ArrayLike, bins: int = 10) -> np.ndarray:
    """Each coordinate of the points as one of ``bins`` equally likely values: factors to score codes against."""
    from scipy.special import ndtr

    if bins < 2:
        raise UsageError(f"bins must be at least 2, got {bins}")
    return np.minimum((ndtr(f.to_normal(points)) * bins).astype(np.int64), bins - 1)


def _largest_correlation(points: np.ndarray) -> float:
    if not np.ptp(points, axis=0).all():
        raise UsageError("a coordinate is constant: it has no law to keep; leave it out")
    return float(np.abs(np.triu(np.corrcoef(points, rowvar=False), k=1)).max())

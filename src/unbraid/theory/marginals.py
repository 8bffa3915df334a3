"""Marginal laws as maps to and from the standard normal line: the steps ``h o g`` of the impossibility construction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError, unknown_name

__all__ = ["Cdf", "Empirical", "Marginal", "Normal", "Uniform", "empirical", "marginals_of"]

EDGE = 1e-7
"""Probabilities are kept this far from 0 and 1, where the normal quantile is infinite."""


class Marginal(Protocol):
    """A law on the line, by the increasing map that makes it standard normal."""

    def to_normal(self, values: np.ndarray) -> np.ndarray:
        """``Phi^-1(F(u))``."""

    def from_normal(self, values: np.ndarray) -> np.ndarray:
        """``F^-1(Phi(x))``, its inverse."""

    def slope(self, values: np.ndarray) -> np.ndarray:
        """Derivative of :meth:`to_normal`."""


@dataclass(frozen=True)
class Normal:
    """A normal law; the map is linear, so nothing is lost in the tails."""

    mean: float = 0.0
    std: float = 1.0

    def to_normal(self, values: np.ndarray) -> np.ndarray:
        return (values - self.mean) / self.std

    def from_normal(self, values: np.ndarray) -> np.ndarray:
        return self.mean + self.std * values

    def slope(self, values: np.ndarray) -> np.ndarray:
        return np.full_like(values, 1 / self.std)


@dataclass(frozen=True)
class Cdf:
    """Any continuous law by its cdf and quantile function; without a density the slope is taken by differences."""

    cdf: Callable[[np.ndarray], np.ndarray]
    ppf: Callable[[np.ndarray], np.ndarray]
    pdf: Callable[[np.ndarray], np.ndarray] | None = None

    def to_normal(self, values: np.ndarray) -> np.ndarray:
        from scipy.special import ndtri

        return ndtri(np.clip(self.cdf(values), EDGE, 1 - EDGE))

    def from_normal(self, values: np.ndarray) -> np.ndarray:
        from scipy.special import ndtr

        return np.asarray(self.ppf(np.clip(ndtr(values), EDGE, 1 - EDGE)))

    def slope(self, values: np.ndarray) -> np.ndarray:
        return self._density(values) / _normal_density(self.to_normal(values))

    def _density(self, values: np.ndarray) -> np.ndarray:
        if self.pdf is not None:
            return np.asarray(self.pdf(values))
        low, high = (float(np.asarray(self.ppf(np.array([p])))[0]) for p in (0.25, 0.75))
        step = 1e-5 * (high - low)
        return (np.asarray(self.cdf(values + step)) - np.asarray(self.cdf(values - step))) / (2 * step)


@dataclass(frozen=True)
class Uniform:
    """A uniform law between two ends."""

    low: float = 0.0
    high: float = 1.0

    def to_normal(self, values: np.ndarray) -> np.ndarray:
        from scipy.special import ndtri

        share = (values - self.low) / (self.high - self.low)
        if len(share) and not (share.min() >= 0 and share.max() <= 1):
            raise UsageError(
                f"a value lies outside the uniform law's support from {self.low} to {self.high}: "
                f"{values.min():.3g} to {values.max():.3g} came; use normal or empirical marginals"
            )
        return ndtri(np.clip(share, EDGE, 1 - EDGE))

    def from_normal(self, values: np.ndarray) -> np.ndarray:
        from scipy.special import ndtr

        return self.low + (self.high - self.low) * ndtr(values)

    def slope(self, values: np.ndarray) -> np.ndarray:
        return 1 / ((self.high - self.low) * _normal_density(self.to_normal(values)))


@dataclass(frozen=True)
class Empirical:
    """The law of a sample: its rank transform, interpolated between the sample's values.

    The value of rank r among n gets the normal quantile of ``(r - 1/2) / n``. Between values the map is linear, beyond
    them it goes on with the sample's standard deviation as its scale, so it is one to one on the whole line.
    """

    values: np.ndarray
    """Distinct values of the sample, ascending."""
    normal: np.ndarray
    """Where each is mapped to."""
    spread: float
    """Standard deviation of the sample."""

    @classmethod
    def fit(cls, sample: ArrayLike) -> Empirical:
        """The law of these numbers."""
        from scipy.special import ndtri

        numbers = np.asarray(sample, dtype=np.float64)
        if numbers.ndim != 1 or not np.isfinite(numbers).all():
            raise UsageError(f"an empirical marginal needs a list of finite numbers, got shape {numbers.shape}")
        values, counts = np.unique(numbers, return_counts=True)
        if len(values) < 2:
            raise UsageError("an empirical marginal needs at least two distinct values; drop constant codes first")
        middle = np.cumsum(counts) - counts / 2  # mean rank of tied values, less one half
        return cls(values, ndtri(middle / len(numbers)), float(numbers.std()))

    def to_normal(self, values: np.ndarray) -> np.ndarray:
        inside = np.interp(values, self.values, self.normal)
        return inside + self._beyond(values, self.values) / self.spread

    def from_normal(self, values: np.ndarray) -> np.ndarray:
        inside = np.interp(values, self.normal, self.values)
        return inside + self._beyond(values, self.normal) * self.spread

    def slope(self, values: np.ndarray) -> np.ndarray:
        slopes = np.concatenate([[1 / self.spread], np.diff(self.normal) / np.diff(self.values), [1 / self.spread]])
        return slopes[np.searchsorted(self.values, values, side="right")]

    @staticmethod
    def _beyond(values: np.ndarray, ends: np.ndarray) -> np.ndarray:
        return np.minimum(values - ends[0], 0) + np.maximum(values - ends[-1], 0)


def empirical(codes: ArrayLike) -> tuple[Empirical, ...]:
    """One empirical marginal per column of codes ``[n, d]``."""
    columns = np.asarray(codes, dtype=np.float64)
    if columns.ndim != 2:
        raise UsageError(f"codes must be [n, d], got shape {columns.shape}")
    return tuple(Empirical.fit(column) for column in columns.T)


def marginals_of(laws: str | Sequence[Any], dimensions: int) -> tuple[Marginal, ...]:
    """One marginal per dimension from ``"normal"``, ``"uniform"`` or a list.

    The list may mix :class:`Normal`, :class:`Uniform`, :class:`Empirical`, pairs ``(cdf, ppf)``, triples
    ``(cdf, ppf, pdf)`` and frozen distributions of ``scipy.stats``.
    """
    if isinstance(laws, str):
        if laws not in ("normal", "uniform"):
            raise unknown_name("marginal", laws, ("normal", "uniform"), "For codes use unbraid.theory.empirical(codes)")
        law: Marginal = Normal() if laws == "normal" else Uniform()
        return (law,) * dimensions
    if len(laws) != dimensions:
        raise UsageError(f"marginals must name one law per dimension, {dimensions} in all, got {len(laws)}")
    return tuple(_marginal(law) for law in laws)


def _marginal(law: Any) -> Marginal:
    if isinstance(law, tuple | list) and len(law) in (2, 3) and all(callable(part) for part in law):
        return Cdf(*law)
    if all(hasattr(law, name) for name in ("to_normal", "from_normal", "slope")):
        found: Marginal = law
        return found
    if all(hasattr(law, name) for name in ("cdf", "ppf", "pdf")):
        return Cdf(law.cdf, law.ppf, law.pdf)
    raise UsageError(f"a marginal must be (cdf, ppf), (cdf, ppf, pdf) or a law with these methods, got {law!r}")


def _normal_density(values: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * values**2) / np.sqrt(2 * np.pi)

"""Toy worlds with known latents: pairs that move sparsely, seen through a linear or nonlinear mixing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unbraid.data import Dataset, GeneralizedLaplace, from_vectors, latent_pairs
from unbraid.errors import UsageError

__all__ = ["Toy", "ar_toy", "linear_mixing", "nonlinear_mixing", "pair_toy", "smooth_leaky", "whitened"]

Mixing = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Toy:
    """Pairs of latents ``[n, d]`` and what is seen of them ``[n, D]``."""

    latents: np.ndarray
    later_latents: np.ndarray
    seen: np.ndarray
    later_seen: np.ndarray

    def __post_init__(self) -> None:
        if self.seen.shape != self.later_seen.shape or len(self.seen) != len(self.latents):
            raise UsageError(f"seen must come in pairs, got {self.seen.shape} and {self.later_seen.shape}")

    def data(self, name: str = "toy") -> Dataset:
        """The same as vectors with measured factors: the first ones, then the later ones, and who follows whom."""
        first = np.arange(len(self.seen))
        return from_vectors(
            np.concatenate([self.seen, self.later_seen]),
            np.concatenate([self.latents, self.later_latents]).astype(np.float64),
            names=[f"z{k}" for k in range(self.latents.shape[1])],
            pairs=np.stack([first, first + len(first)], axis=1),
            name=name,
        )


def smooth_leaky(x: np.ndarray, slope: float = 0.2) -> np.ndarray:
    """slope x + (1 - slope) log(1 + e^x): a leaky ReLU without its kink, invertible."""
    return slope * x + (1 - slope) * np.logaddexp(0, x)


def linear_mixing(dimensions: int, rng: np.random.Generator, *, condition: float = 2.0) -> Mixing:
    """A random matrix with singular values evenly from 1 to ``condition``."""
    left, _, right = np.linalg.svd(rng.standard_normal((dimensions, dimensions)))
    matrix = left @ np.diag(np.linspace(1, condition, dimensions)) @ right
    return lambda z: z @ matrix.T


def nonlinear_mixing(
    dimensions: int, seen: int, rng: np.random.Generator, *, layers: int = 2, draws: int = 200
) -> Mixing:
    """``layers`` matrices to ``seen`` numbers with :func:`smooth_leaky` between them; one layer is linear.

    Entries are uniform, columns have unit length, and of many ``draws`` one with a condition number in the lowest
    quarter is taken, as in the simulations of Hyvärinen & Morioka (2017).
    """
    if layers < 1 or seen < dimensions:
        raise UsageError(f"layers must be at least 1 and seen at least {dimensions}, got {layers} and {seen}")
    sizes = [dimensions, *[seen] * layers]
    matrices = [_well_conditioned(sizes[i + 1], sizes[i], rng, draws if seen <= 50 else 1) for i in range(layers)]

    def mix(z: np.ndarray) -> np.ndarray:
        for position, matrix in enumerate(matrices):
            z = (smooth_leaky(z) if position else z) @ matrix.T
        return z

    return mix


def pair_toy(n: int, dimensions: int, mixing: Mixing, rng: np.random.Generator, *, alpha: float, rate: float) -> Toy:
    """Pairs of the generative model: a normal latent, a generalised Laplace step, both mixed; standardised as seen."""
    first, second = latent_pairs(n, dimensions, GeneralizedLaplace(alpha, rate), rng)
    return Toy(first, second, mixing(first), mixing(second))


def ar_toy(n: int, dimensions: int, mixing: Mixing, rng: np.random.Generator, *, ar: float = 0.7) -> Toy:
    """Neighbours of one long series: every source is autoregressive with Laplace innovations, of unit variance."""
    from scipy.signal import lfilter

    burn = 200
    innovations = rng.laplace(size=(n + 1 + burn, dimensions)) * np.sqrt((1 - ar**2) / 2)
    sources = lfilter([1], [1, -ar], innovations, axis=0)[burn:]
    seen = mixing(sources)
    return Toy(sources[:-1], sources[1:], seen[:-1], seen[1:])


def whitened(toy: Toy, *, rotate: bool = True) -> Toy:
    """What is seen, with mean zero and unit variance; with ``rotate`` also without correlations."""
    mean = toy.seen.mean(axis=0)
    if not rotate:
        scale = toy.seen.std(axis=0)
        return Toy(toy.latents, toy.later_latents, (toy.seen - mean) / scale, (toy.later_seen - mean) / scale)
    values, vectors = np.linalg.eigh(np.cov(toy.seen.T))
    white = vectors / np.sqrt(values)
    return Toy(toy.latents, toy.later_latents, (toy.seen - mean) @ white, (toy.later_seen - mean) @ white)


def _well_conditioned(rows: int, columns: int, rng: np.random.Generator, draws: int) -> np.ndarray:
    matrices = rng.uniform(-1, 1, (draws, rows, columns))
    matrices /= np.linalg.norm(matrices, axis=1, keepdims=True)
    conditions = np.linalg.cond(matrices)
    return matrices[np.flatnonzero(conditions <= np.quantile(conditions, 0.25))[0]]

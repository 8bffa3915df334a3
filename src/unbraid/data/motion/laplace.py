"""The generalized Laplace family of transitions: density, moments, sampling, maximum likelihood."""

from dataclasses import dataclass
from math import exp, lgamma, log

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError

__all__ = ["GeneralizedLaplace", "latent_pairs"]

ALPHAS = (0.05, 8.0)
"""Where a fit looks for the shape."""


@dataclass(frozen=True)
class GeneralizedLaplace:
    """Increments with density ``C exp(-lam |d - loc|^alpha)``: Laplace at alpha 1, normal at 2, sparser below.

    The normaliser is ``C = alpha lam^(1/alpha) / (2 Gamma(1/alpha))``. Klindt et al. (2021) print ``lam`` without the
    power, which is right for alpha = 1 only. ``alpha`` alone sets the sparseness, ``lam`` only rescales.

    >>> round(GeneralizedLaplace(alpha=0.5, lam=3.0).normaliser, 4)
    2.25
    """

    alpha: float = 1.0
    lam: float = 1.0
    loc: float = 0.0

    def __post_init__(self) -> None:
        if not (self.alpha > 0 and self.lam > 0):
            raise UsageError(f"alpha and lam must be positive, got {self.alpha} and {self.lam}")

    @classmethod
    def from_scale(cls, alpha: float, scale: float, loc: float = 0.0) -> "GeneralizedLaplace":
        """The member with density proportional to ``exp(-|(d - loc) / scale|^alpha)``, SciPy's ``gennorm``."""
        return cls(alpha, scale**-alpha, loc)

    @property
    def scale(self) -> float:
        """``lam^(-1/alpha)``, in the unit of the data."""
        return exp(-log(self.lam) / self.alpha)

    @property
    def normaliser(self) -> float:
        """The density at its peak."""
        return exp(self._log_normaliser())

    def _log_normaliser(self) -> float:
        return log(self.alpha / 2) + log(self.lam) / self.alpha - lgamma(1 / self.alpha)

    def log_prob(self, increments: ArrayLike) -> np.ndarray:
        """Log density of each increment."""
        return self._log_normaliser() - self.lam * np.abs(np.asarray(increments, float) - self.loc) ** self.alpha

    def sample(self, size: int | tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Independent draws: a random sign times the root of a gamma variable."""
        size_of = (rng.standard_gamma(1 / self.alpha, size) / self.lam) ** (1 / self.alpha)
        return self.loc + np.where(rng.random(size) < 0.5, -size_of, size_of)

    def moment(self, power: float) -> float:
        """``E |d - loc|^power``."""
        return exp(lgamma((power + 1) / self.alpha) - lgamma(1 / self.alpha) - log(self.lam) * power / self.alpha)

    @property
    def variance(self) -> float:
        """``lam^(-2/alpha) Gamma(3/alpha) / Gamma(1/alpha)``."""
        return self.moment(2)

    @property
    def kurtosis(self) -> float:
        """Excess kurtosis: 3 for Laplace, 0 for normal, 22.2 at alpha 0.5."""
        return self.moment(4) / self.moment(2) ** 2 - 3

    @classmethod
    def fit(cls, increments: ArrayLike, *, loc: float | None = None) -> "GeneralizedLaplace":
        """The most likely member for these increments; ``loc`` is fitted too unless given.

        For a given shape and centre the scale has a closed form, so only these two are searched. Below alpha 1 the
        likelihood has a cusp at every data point; the best quantile between 35 and 65 % is taken as the centre.
        """
        data = np.asarray(increments, float).ravel()
        if len(data) < 3 or not np.isfinite(data).all() or np.ptp(data) == 0:
            raise UsageError("a fit needs at least three finite increments that are not all equal")
        unit = float(np.mean(np.abs(data - np.median(data)))) or float(data.std())
        data = data / unit
        if loc is not None:
            alpha, scale, centre = *_fit_shape(data - loc / unit), loc / unit
        else:
            centre = float(np.median(data))
            alpha, scale = _fit_shape(data - centre)
            for _ in range(2):
                centre = _fit_centre(data, alpha)
                alpha, scale = _fit_shape(data - centre)
        return cls.from_scale(alpha, scale * unit, centre * unit)


def _fit_shape(data: np.ndarray) -> tuple[float, float]:
    """Shape and scale of centred data."""
    from scipy.optimize import minimize_scalar

    logs = np.log(np.maximum(np.abs(data), 1e-300))

    def scale_power(alpha: float) -> float:
        return alpha * float(np.mean(np.exp(alpha * logs)))

    def loss(log_alpha: float) -> float:
        """Mean negative log-likelihood at the best scale."""
        alpha = exp(log_alpha)
        return -log(alpha / 2) + lgamma(1 / alpha) + (log(scale_power(alpha)) + 1) / alpha

    # Repeated values (whole pixels) make the likelihood rise without bound towards alpha 0, where the law is a spike:
    # so the optimum that is reached downhill from Laplace is the one wanted, not the lowest of all.
    ladder = np.linspace(log(ALPHAS[0]), log(ALPHAS[1]), 25)
    heights = [loss(step) for step in ladder]
    at = int(np.argmin(np.abs(ladder)))
    while True:
        lower = [k for k in (at - 1, at + 1) if 0 <= k < len(ladder) and heights[k] < heights[at]]
        if not lower:
            break
        at = min(lower, key=heights.__getitem__)
    around = ladder[max(at - 1, 0)], ladder[min(at + 1, len(ladder) - 1)]
    found = minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": 1e-4})
    alpha = exp(found.x)
    return alpha, scale_power(alpha) ** (1 / alpha)


def _fit_centre(data: np.ndarray, alpha: float) -> float:
    """The centre with the least ``mean |d - centre|^alpha``."""
    from scipy.optimize import minimize_scalar

    def spread(centre: float) -> float:
        return float(np.mean(np.abs(data - centre) ** alpha))

    candidates = np.unique(np.quantile(data, np.linspace(0.35, 0.65, 31)))
    best = int(np.argmin([spread(centre) for centre in candidates]))
    centre = float(candidates[best])
    around = candidates[max(best - 1, 0)], candidates[min(best + 1, len(candidates) - 1)]
    if around[1] > around[0]:
        found = minimize_scalar(spread, bounds=around, method="bounded")
        if found.fun < spread(centre):
            return float(found.x)
    return centre


def latent_pairs(
    n: int, dimensions: int, transition: GeneralizedLaplace, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """``n`` pairs of the generative model: a standard normal latent ``[n, d]`` and the one it moves to."""
    first = rng.standard_normal((n, dimensions))
    return first, first + transition.sample((n, dimensions), rng)

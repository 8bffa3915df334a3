"""How dependent the codes are on each other, without any factors: three unsupervised quantities, lower is better."""

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError
from unbraid.metrics._discrete import Binning, bin_codes, mutual_information
from unbraid.metrics._registry import POSITIVE, register
from unbraid.metrics._score import Score, check_codes, check_seed

__all__ = ["gaussian_total_correlation", "pairwise_mutual_information", "wasserstein_correlation"]


LIVE = 0.05
"""A code is dead when its standard deviation is below this share of the largest one."""


@register(
    "gaussian_total_correlation",
    range=POSITIVE,
    title="Total correlation",
    about="correlation of the codes with each other, in nats",
    higher_is_better=False,
)
def gaussian_total_correlation(codes: ArrayLike, *, min_spread: float = 0.0, seed: int = 0) -> Score:
    """Total correlation, in nats, of a Gaussian with the covariance of the codes: 0 if and only if uncorrelated.

    ``0.5 (sum_j log S_jj - log det S)``; does not depend on the scale of any code. Exactly constant codes are left
    out and counted in ``parts``. Linearly dependent codes give infinity. It sees correlation only, no other dependence.

    Flaw: because scale does not count, dead codes of a VAE, faint functions of the live ones, rule the value. The part
    ``live`` is the value without codes whose standard deviation is below 0.05 of the largest; ``min_spread`` is that
    share for the value itself.

    >>> x = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> float(gaussian_total_correlation(x))
    0.0
    """
    codes = check_codes(codes)
    covariance, moving = _covariance(codes, min_spread)
    live, alive = _covariance(codes, LIVE)
    return Score(
        "gaussian_total_correlation",
        _total_correlation(covariance),
        parts={
            "live": _total_correlation(live),
            "live_codes": int(alive.sum()),
            "covariance": covariance,
            "constant_codes": int((np.ptp(codes, axis=0) == 0).sum()),
            "active": moving,
        },
        settings={"min_spread": min_spread, "samples": len(codes), "seed": check_seed(seed)},
    )


def _total_correlation(covariance: np.ndarray) -> float:
    if len(covariance) < 2:
        return 0.0
    spread = np.sqrt(np.diag(covariance))
    sign, logarithm = np.linalg.slogdet(covariance / np.outer(spread, spread))
    return max(0.0, -0.5 * float(logarithm)) if sign > 0 else float("inf")


@register(
    "wasserstein_correlation",
    range=POSITIVE,
    title="Wasserstein correlation",
    about="distance of the codes from uncorrelated ones",
    higher_is_better=False,
)
def wasserstein_correlation(codes: ArrayLike, *, normalize: bool = False, seed: int = 0) -> Score:
    """Squared 2-Wasserstein distance between the Gaussian fitted to the codes and its uncorrelated version.

    ``2 tr S - 2 tr (D^1/2 S D^1/2)^1/2`` with ``D = diag S`` (as in Locatello et al., 2019).

    Flaw: it is in units of variance, so codes of large scale look more dependent; ``normalize=True`` divides by
    ``tr S``.
    """
    codes = check_codes(codes)
    covariance, moving = _covariance(codes, 0.0)
    value = 0.0
    if len(covariance) > 1:
        total = float(np.trace(covariance))
        shares = covariance / total  # products of raw variances could overflow
        spread = np.sqrt(np.diag(shares))
        values = np.linalg.eigvalsh(spread[:, None] * shares * spread)
        distance = max(2 - 2 * float(np.sqrt(np.maximum(values, 0)).sum()), 0.0)
        value = distance * (1.0 if normalize else total)
    return Score(
        "wasserstein_correlation",
        value,
        parts={"covariance": covariance, "constant_codes": int((~moving).sum()), "active": moving},
        settings={"normalize": normalize, "samples": len(codes), "seed": check_seed(seed)},
    )


@register(
    "pairwise_mutual_information",
    range=POSITIVE,
    title="Pairwise information",
    about="mean information between two codes, in nats",
    higher_is_better=False,
)
def pairwise_mutual_information(
    codes: ArrayLike, *, bins: int = 20, binning: Binning = "width", min_spread: float = 0.0, seed: int = 0
) -> Score:
    """Mean mutual information, in nats, between two different codes cut into bins; 0 for a single code.

    Plug-in counts are biased upwards by about ``(bins - 1)^2 / 2n`` per pair. Bins of equal width suffer from
    outliers; ``binning="quantile"`` does not.

    Flaw: bins follow each code's own range, so dead codes of a VAE, faint functions of the live ones, count as much as
    these. The part ``live`` is the value without codes whose standard deviation is below 0.05 of the largest;
    ``min_spread`` is that share for the value itself.
    """
    codes = check_codes(codes)
    binned = bin_codes(codes, bins, binning)
    information = mutual_information(binned, binned)
    alive = _moving(codes, LIVE)
    return Score(
        "pairwise_mutual_information",
        _mean_of_pairs(information, _moving(codes, min_spread) if min_spread else np.ones(len(information), bool)),
        parts={"live": _mean_of_pairs(information, alive), "live_codes": int(alive.sum()), "information": information},
        settings={
            "estimator": "plug-in counts",
            "bins": bins,
            "binning": binning,
            "min_spread": min_spread,
            "samples": len(codes),
            "seed": check_seed(seed),
        },
    )


def _mean_of_pairs(information: np.ndarray, chosen: np.ndarray) -> float:
    """Mean over pairs of two different codes among the chosen ones."""
    pairs = np.outer(chosen, chosen) & ~np.eye(len(chosen), dtype=bool)
    return float(information[pairs].mean()) if pairs.any() else 0.0


def _moving(codes: np.ndarray, min_spread: float) -> np.ndarray:
    """Codes that vary, by at least this share of the largest standard deviation."""
    if not 0 <= min_spread < 1:
        raise UsageError(f"min_spread must lie in [0, 1), got {min_spread}")
    spread = codes.std(axis=0)
    return (np.ptp(codes, axis=0) > 0) & (spread >= min_spread * spread.max())


def _covariance(codes: np.ndarray, min_spread: float) -> tuple[np.ndarray, np.ndarray]:
    moving = _moving(codes, min_spread)
    return np.atleast_2d(np.cov(codes[:, moving], rowvar=False)) if moving.any() else np.zeros((0, 0)), moving

"""How dependent the codes are on each other, without any factors: three unsupervised quantities, lower is better."""

import numpy as np
from numpy.typing import ArrayLike

from unbraid.metrics._discrete import Binning, bin_codes, mutual_information
from unbraid.metrics._registry import POSITIVE, register
from unbraid.metrics._score import Score, check_codes

__all__ = ["gaussian_total_correlation", "pairwise_mutual_information", "wasserstein_correlation"]


@register(
    "gaussian_total_correlation",
    range=POSITIVE,
    title="Total correlation",
    about="correlation of the codes with each other, in nats",
    higher_is_better=False,
)
def gaussian_total_correlation(codes: ArrayLike, *, seed: int = 0) -> Score:
    """Total correlation, in nats, of a Gaussian with the covariance of the codes: 0 if and only if uncorrelated.

    ``0.5 (sum_j log S_jj - log det S)``; does not depend on the scale of any code. Exactly constant codes are left
    out and counted in ``parts``. Linearly dependent codes give infinity. It sees correlation only, no other dependence.

    >>> x = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> float(gaussian_total_correlation(x))
    0.0
    """
    covariance, moving = _covariance(codes)
    value = 0.0
    if len(covariance) > 1:
        spread = np.sqrt(np.diag(covariance))
        sign, logarithm = np.linalg.slogdet(covariance / np.outer(spread, spread))
        value = max(0.0, -0.5 * float(logarithm)) if sign > 0 else float("inf")
    return Score(
        "gaussian_total_correlation",
        value,
        parts={"covariance": covariance, "constant_codes": int((~moving).sum()), "active": moving},
        settings={"samples": len(np.asarray(codes)), "seed": seed},
    )


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
    covariance, moving = _covariance(codes)
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
        settings={"normalize": normalize, "samples": len(np.asarray(codes)), "seed": seed},
    )


@register(
    "pairwise_mutual_information",
    range=POSITIVE,
    title="Pairwise information",
    about="mean information between two codes, in nats",
    higher_is_better=False,
)
def pairwise_mutual_information(
    codes: ArrayLike, *, bins: int = 20, binning: Binning = "width", seed: int = 0
) -> Score:
    """Mean mutual information, in nats, between two different codes cut into bins; 0 for a single code.

    Plug-in counts are biased upwards by about ``(bins - 1)^2 / 2n`` per pair. Bins of equal width suffer from
    outliers; ``binning="quantile"`` does not.
    """
    codes = check_codes(codes)
    binned = bin_codes(codes, bins, binning)
    information = mutual_information(binned, binned)
    d = len(information)
    others = information[~np.eye(d, dtype=bool)]
    return Score(
        "pairwise_mutual_information",
        float(others.mean()) if d > 1 else 0.0,
        parts={"information": information},
        settings={"estimator": "plug-in counts", "bins": bins, "binning": binning, "samples": len(codes), "seed": seed},
    )


def _covariance(codes: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    codes = check_codes(codes)
    # Squares of codes below 1e-154 vanish: to a covariance they are constant.
    moving = (np.ptp(codes, axis=0) > 0) & (np.var(codes, axis=0) > np.finfo(float).tiny)
    return np.atleast_2d(np.cov(codes[:, moving], rowvar=False)) if moving.any() else np.zeros((0, 0)), moving

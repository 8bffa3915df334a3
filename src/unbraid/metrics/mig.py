"""Mutual information gap (Chen, Li, Grosse & Duvenaud, 2018)."""

import numpy as np
from numpy.typing import ArrayLike

from unbraid.metrics._discrete import (
    Binning,
    bin_codes,
    code_information,
    entropy,
    identity_code,
    informative,
    mutual_information,
    top_two,
)
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Score, check_arrays, check_seed

__all__ = ["mig"]


@register("mig", range=UNIT, title="MIG", about="gap between the two codes that know most about a factor", counts=True)
def mig(codes: ArrayLike, factors: ArrayLike, *, bins: int = 20, binning: Binning = "width", seed: int = 0) -> Score:
    """Mean over factors of the gap between the two codes that know most about it, in units of its entropy.

    ``mean_k (I(z_(1); v_k) - I(z_(2); v_k)) / H(v_k)``, codes cut into ``bins`` bins, plug-in counts. A constant code
    knows nothing; a duplicated code makes its factor's gap 0. A factor with more than ``bins`` values cannot reach 1.

    Flaw: bins of equal width (the study's setting) collapse when one sample lies far out;
    ``binning="quantile"`` is immune and also ignores any monotone warp of a code.

    The part ``alone`` has, for every factor's most informative code, how much more of this factor it knows than of any
    other (each in units of its entropy): low where one code serves two factors, which the gap does not see.

    The score is deterministic; ``seed`` is accepted so that all scores are called alike.

    >>> grid = np.indices((3, 4)).reshape(2, -1).T
    >>> mig(grid, grid)
    mig 1.00 of 1.00
    """
    codes, factors = check_arrays(codes, factors)
    binned = bin_codes(codes, bins, binning)
    information = mutual_information(binned, factors)  # [d, K]
    entropies = entropy(factors)
    gaps = gaps_of(information, entropies)
    best = gaps_of(code_information(identity_code(factors), factors, bins, binning), entropies)
    return Score(
        "mig",
        float(gaps.mean()),
        float(best.mean()),
        {
            "per_factor": gaps,
            "alone": alone_of(information, entropies),
            "ceiling_per_factor": best,
            "information": information,
            "entropy": entropies,
            "active": informative(information, binned, factors),
        },
        {
            "estimator": "plug-in counts",
            "bins": bins,
            "binning": binning,
            "samples": len(codes),
            "seed": check_seed(seed),
        },
    )


def gaps_of(information: np.ndarray, entropies: np.ndarray) -> np.ndarray:
    """Gap of each factor from the information ``[d, K]`` of codes about factors."""
    top, second = top_two(information)
    return (top - second) / entropies


def alone_of(information: np.ndarray, entropies: np.ndarray) -> np.ndarray:
    """For each factor: what its most informative code knows of it less what that code knows of any other factor."""
    shares = information / entropies  # [d, K]
    codes = shares.argmax(axis=0)
    others = shares[codes].copy()  # [K, K]: row k is the code of factor k
    np.fill_diagonal(others, -np.inf)
    most = others.max(axis=1) if len(entropies) > 1 else np.zeros(1)
    return shares[codes, np.arange(len(codes))] - most

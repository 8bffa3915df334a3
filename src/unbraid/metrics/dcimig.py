"""DCIMIG: the mutual information gap of codes, collected per factor (Sepliarskaia, Kiseleva & de Rijke, 2019)."""

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

__all__ = ["dcimig"]


@register(
    "dcimig",
    range=UNIT,
    title="DCIMIG",
    about="share of the factors' entropy in codes that serve one factor",
    counts=True,
)
def dcimig(codes: ArrayLike, factors: ArrayLike, *, bins: int = 20, binning: Binning = "width", seed: int = 0) -> Score:
    """Share of the factors' entropy that is held by codes serving one factor.

    A code belongs to the factor it knows most about and earns the gap to its second factor; a factor gets its best
    code's gap, 0 if no code belongs to it; the sum is divided by the sum of the entropies. Dead and spare codes cost
    nothing, and a factor held by two codes is not punished, unlike in MIG.
    """
    codes, factors = check_arrays(codes, factors)
    binned = bin_codes(codes, bins, binning)
    information = mutual_information(binned, factors)  # [d, K]
    entropies = entropy(factors)
    earned = _earned(information)
    best = _earned(code_information(identity_code(factors), factors, bins, binning))
    return Score(
        "dcimig",
        float(earned.sum() / entropies.sum()),
        float(best.sum() / entropies.sum()),
        {
            "per_factor": earned / entropies,
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


def _earned(information: np.ndarray) -> np.ndarray:
    top, second = top_two(information, axis=1)
    earned = np.zeros(information.shape[1])
    np.maximum.at(earned, information.argmax(axis=1), top - second)
    return earned

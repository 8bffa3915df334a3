"""Modularity (Ridgeway & Mozer, 2018)."""

import numpy as np
from numpy.typing import ArrayLike

from unbraid.metrics._discrete import (
    Binning,
    bin_codes,
    code_information,
    identity_code,
    informative,
    mutual_information,
)
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Score, check_arrays, check_seed

__all__ = ["modularity", "modularity_of"]


@register("modularity", range=UNIT, title="Modularity", about="does a code inform about one factor only", counts=True)
def modularity(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    bins: int = 20,
    binning: Binning = "width",
    active_only: bool = False,
    seed: int = 0,
) -> Score:
    """Mean over codes of how exclusively a code informs about one factor.

    With ``M`` the information of code ``j`` about factor ``k``: ``1 - sum_{k != k*} M_jk^2 / (M_jk*^2 (K - 1))``,
    ``k*`` the best factor; 0 for a code that knows nothing. With one factor every informative code scores 1.

    Flaws: it says nothing about whether all factors are covered. A dead code counts 0, and a code of pure noise gets
    about 0.67 from chance counts, so spare codes move the score either way; ``active_only=True`` averages over codes
    that are informative beyond chance (0 if there are none).
    """
    codes, factors = check_arrays(codes, factors)
    binned = bin_codes(codes, bins, binning)
    information = mutual_information(binned, factors)  # [d, K]
    active = informative(information, binned, factors)
    per_code = _per_code(information)
    counted = per_code[active] if active_only else per_code
    return Score(
        "modularity",
        float(counted.mean()) if counted.size else 0.0,
        modularity_of(code_information(identity_code(factors), factors, bins, binning)),
        {"per_code": per_code, "information": information, "active": active},
        {
            "estimator": "plug-in counts",
            "bins": bins,
            "binning": binning,
            "active_only": active_only,
            "samples": len(codes),
            "seed": check_seed(seed),
        },
    )


def modularity_of(information: np.ndarray) -> float:
    """Modularity of a matrix ``[d, K]`` of information of codes about factors.

    >>> modularity_of(np.eye(3))
    1.0
    """
    return float(_per_code(np.asarray(information, dtype=np.float64)).mean())


def _per_code(information: np.ndarray) -> np.ndarray:
    squares = information**2
    best = squares.max(axis=1)
    rest = squares.sum(axis=1) - best
    others = max(information.shape[1] - 1, 1)
    return np.where(best > 0, 1 - rest / (np.where(best > 0, best, 1) * others), 0.0)

"""MIG-sup: the mutual information gap seen from the codes (Li, Murkute, Gyawali & Wang, 2020)."""

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

__all__ = ["mig_sup"]


@register(
    "mig_sup", range=UNIT, title="MIG-sup", about="gap between the two factors a code knows most about", counts=True
)
def mig_sup(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    bins: int = 20,
    binning: Binning = "width",
    active_only: bool = False,
    seed: int = 0,
) -> Score:
    """Mean over codes of the gap between the two factors a code knows most about, each in units of its entropy.

    MIG asks whether a factor sits in one code; this asks whether a code serves one factor. It does not notice a factor
    spread over several codes.

    Flaw: a code that knows nothing counts as 0, so ten codes for five factors end at one half at most;
    ``active_only=True`` averages over informative codes alone (0 if there are none).
    """
    codes, factors = check_arrays(codes, factors)
    binned = bin_codes(codes, bins, binning)
    information = mutual_information(binned, factors)  # [d, K]
    entropies = entropy(factors)
    gaps = _gaps(information, entropies)
    active = informative(information, binned, factors)
    counted = gaps[active] if active_only else gaps
    best = _gaps(code_information(identity_code(factors), factors, bins, binning), entropies)
    return Score(
        "mig_sup",
        float(counted.mean()) if counted.size else 0.0,
        float(best.mean()),
        {"per_code": gaps, "information": information, "entropy": entropies, "active": active},
        {
            "estimator": "plug-in counts",
            "bins": bins,
            "binning": binning,
            "active_only": active_only,
            "samples": len(codes),
            "seed": check_seed(seed),
        },
    )


def _gaps(information: np.ndarray, entropies: np.ndarray) -> np.ndarray:
    top, second = top_two(information / entropies, axis=1)
    return top - second

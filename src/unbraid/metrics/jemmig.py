"""JEMMIG: joint entropy minus mutual information gap (Do & Tran, 2020)."""

import numpy as np
from numpy.typing import ArrayLike

from unbraid.metrics._discrete import Binning, bin_codes, entropy, identity_code, mutual_information, top_two
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Score, check_arrays, check_seed

__all__ = ["jemmig"]


@register("jemmig", range=UNIT, title="JEMMIG", about="MIG that charges codes for what else they say", counts=True)
def jemmig(codes: ArrayLike, factors: ArrayLike, *, bins: int = 20, binning: Binning = "width", seed: int = 0) -> Score:
    """MIG that also charges a factor's best code for what it says beyond the factor; higher is better.

    Per factor the published quantity is ``H(z*, v) - I(z*; v) + I(z'; v)``, ``z*`` and ``z'`` the best and second best
    code: 0 for a code that is the factor and nothing else. The value is its mean after ``1 - . / (H(v) + log bins)``,
    the authors' normalisation; the raw quantity in nats is ``parts["raw"]``.

    Flaw: the normaliser allows for a code spread over all bins, so a useless constant code still gets
    ``log bins / (H(v) + log bins)``, about one half. Read it beside MIG.
    """
    codes, factors = check_arrays(codes, factors)
    raw, best_code = _raw(bin_codes(codes, bins, binning), factors)
    ideal, _ = _raw(bin_codes(identity_code(factors), bins, binning), factors)
    scale = entropy(factors) + np.log(bins)
    per_factor = 1 - raw / scale
    return Score(
        "jemmig",
        float(per_factor.mean()),
        float((1 - ideal / scale).mean()),
        {"per_factor": per_factor, "raw": raw, "best_code": best_code},
        {
            "estimator": "plug-in counts",
            "bins": bins,
            "binning": binning,
            "samples": len(codes),
            "seed": check_seed(seed),
        },
    )


def _raw(binned: np.ndarray, factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    information = mutual_information(binned, factors)  # [d, K]
    top, second = top_two(information)
    # Of codes that know equally much the one that says least else is the better; the order of codes must not decide.
    spread = entropy(binned)
    best = np.where(information >= top - 1e-12, spread[:, None], np.inf).argmin(axis=0)
    joint = spread[best] + entropy(factors) - top
    return joint - top + second, best

"""EDI: modularity and compactness by what a code knows beyond the rest (Julka, Wang & Granitzer, 2024)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unbraid.metrics._boosting import fit_booster
from unbraid.metrics._discrete import Binning, bin_codes, entropy, identity_code, mutual_information, relabel
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Score, check_arrays, check_seed, split

__all__ = ["edi", "edi_of", "exclusivity"]


@register(
    "edi",
    range=UNIT,
    title="EDI modularity",
    short="EDI",
    about="what codes know of their factor beyond the rest, summed over codes",
    parts={"modularity": "EDI modularity", "compactness": "EDI compactness"},
    usual=False,
    counts=True,
)
def edi(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    bins: int = 20,
    binning: Binning = "width",
    explicitness: bool = False,
    seed: int = 0,
) -> Score:
    """Exclusivity of codes towards factors (modularity, the value) and of factors towards codes (compactness).

    With ``N_jk = I(z_j; v_k) / H(v_k)``, the exclusivity of a row is its largest entry less the root mean square of the
    others. Each code's is credited to the factor it knows most of; a factor's credits are summed, up to 1, and
    averaged: several codes may share a factor. Compactness is the mean exclusivity of columns: there copies do harm.
    ``explicitness=True`` adds the share of each factor's entropy that all codes explain together, by the log-loss of
    boosted trees on a third of the samples that was held out; the release trains a neural network for it.

    Flaw: counts overestimate information, which lifts the largest entry and the others alike.
    """
    codes, factors = check_arrays(codes, factors)

    def shares(columns: np.ndarray) -> np.ndarray:
        return mutual_information(bin_codes(columns, bins, binning), factors) / entropy(factors)

    table = shares(codes)
    found, ideal = edi_of(table), edi_of(shares(identity_code(factors)))
    parts: dict[str, Any] = {**found, "information": table, "compactness_ceiling": ideal["compactness"]}
    if explicitness:
        parts["explicit_per_factor"] = _explicit(codes, factors, seed)
        parts["explicitness"] = float(parts["explicit_per_factor"].mean())
    return Score(
        "edi",
        float(found["modularity"]),
        float(ideal["modularity"]),
        parts,
        {
            "estimator": "plug-in counts",
            "bins": bins,
            "binning": binning,
            "samples": len(codes),
            "seed": check_seed(seed),
        },
    )


def exclusivity(table: ArrayLike) -> np.ndarray:
    """Of each row, its largest entry less the root mean square of the others; of a single entry, that.

    >>> print(exclusivity([[0.5, 0.5, 0.0, 0.0], [0.3, 0.3, 0.3, 0.3], [0.0, 1.0, 0.0, 0.0]]).round(4))
    [0.2113 0.     1.    ]
    """
    rows = np.asarray(table, dtype=np.float64)
    largest = rows.max(axis=1)
    others = np.maximum((rows**2).sum(axis=1) - largest**2, 0.0) / max(rows.shape[1] - 1, 1)
    found = largest - np.sqrt(others)
    return np.where(found < 1e-12, 0.0, found)  # equal entries, rounded


def edi_of(table: ArrayLike) -> dict[str, Any]:
    """Modularity and compactness of a matrix ``[d, K]`` of information in units of the factors' entropies."""
    rows = np.asarray(table, dtype=np.float64)
    per_code, best = exclusivity(rows), rows.argmax(axis=1)
    credit = np.minimum(np.bincount(best, weights=per_code, minlength=rows.shape[1]), 1.0)
    per_factor = exclusivity(rows.T)
    return {
        "modularity": float(credit.mean()),
        "compactness": float(per_factor.mean()),
        "modularity_per_code": per_code,
        "credit_per_factor": credit,
        "compactness_per_factor": per_factor,
    }


def _explicit(codes: np.ndarray, factors: np.ndarray, seed: int) -> np.ndarray:
    """The share of each factor's entropy that boosted trees explain on held-out samples; at least 0."""
    labels, _ = relabel(factors)
    train, test = split(codes, labels, seed=seed)
    found = np.empty(labels.shape[1])
    for k in range(len(found)):
        model = fit_booster(train[0], train[1][:, k], seed=seed)
        chances = model.predict_proba(test[0])
        place = np.minimum(np.searchsorted(model.classes, test[1][:, k]), len(model.classes) - 1)
        known = model.classes[place] == test[1][:, k]
        right = np.where(known, chances[np.arange(len(place)), place], 0.0)
        loss = -np.log(np.maximum(right, 1e-12)).mean()
        found[k] = max(1 - loss / entropy(test[1][:, k : k + 1])[0], 0.0)
    return found

"""Mean correlation coefficient of matched codes and factors (Hyvärinen & Morioka, 2016; Klindt et al., 2021)."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import unknown_name
from unbraid.metrics._kinds import correlations, perfect_code
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Score, check_arrays, check_kinds, check_seed

__all__ = ["match_codes", "mcc"]


@register("mcc", range=UNIT, title="MCC", about="mean correlation of factors with their matched codes", measured=True)
def mcc(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    method: Literal["spearman", "pearson"] = "spearman",
    kinds: Sequence[str] | None = None,
    seed: int = 0,
) -> Score:
    """Mean over factors of the absolute correlation with the code assigned to each, by the best one-to-one assignment.

    Order and sign of the codes do not matter; with ``"spearman"`` neither does a monotone warp. A constant code
    correlates with nothing, and with fewer codes than factors the unmatched factors count 0. Published numbers pad
    the factors with noise channels up to the number of codes, which changes the value by ``O(1 / sqrt(n))`` only.

    Flaw: without ``kinds`` all factors are taken as ordinal, as published: renumbering categories changes the
    score and periodic factors score low. With ``kinds`` a category enters by its correlation ratio and a circle by
    its multiple correlation with sine and cosine. No penalty for a factor spread over further codes.
    """
    codes, factors = check_arrays(codes, factors, measured=True)
    if method not in ("spearman", "pearson"):
        raise unknown_name("method", method, ("spearman", "pearson"))
    known = check_kinds(kinds, factors)
    table = correlations(codes, factors, known, rank=method == "spearman")  # [d, K]
    matched, per_factor = match_codes(table)
    ideal = correlations(perfect_code(factors, known), factors, known, rank=method == "spearman")
    return Score(
        "mcc",
        float(per_factor.mean()),
        float(match_codes(ideal)[1].mean()),
        {"per_factor": per_factor, "code_of_factor": matched, "correlations": table},
        {
            "method": method,
            "kinds": list(known) if kinds is not None else None,
            "samples": len(codes),
            "seed": check_seed(seed),
        },
    )


def match_codes(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The code of each factor by the best one-to-one assignment of a matrix ``[d, K]``, and their entries.

    A factor for which no code is left has -1, and 0.
    """
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(table, maximize=True)
    matched = np.full(table.shape[1], -1)
    matched[columns] = rows
    return matched, np.where(matched >= 0, table[matched, np.arange(table.shape[1])], 0.0)

"""Which codes depend on which factors, by tests of conditional independence (Yao et al., 2025)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError
from unbraid.metrics._kinds import correlations
from unbraid.metrics._polynomial import check_degree, powers
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Score, check_arrays, check_seed
from unbraid.metrics.mcc import match_codes

__all__ = ["covariance_test", "tmex"]


@register(
    "tmex",
    range=UNIT,
    title="T-MEX",
    about="share of wrong entries in what depends on what",
    parts={"errors": "T-MEX errors", "floor": "T-MEX errors by chance"},
    higher_is_better=False,
    measured=True,
    usual=False,
)
def tmex(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    expected: ArrayLike | None = None,
    alpha: float = 0.05,
    degree: int = 1,
    seed: int = 0,
) -> Score:
    """Share of the entries (code, factor) whose dependence is not as expected; 0 is best.

    A code depends on a factor if, given all other factors, independence is rejected at level ``alpha`` by the
    generalised covariance measure (Shah & Peters, 2020): both are regressed on the other factors (by polynomials of
    ``degree``), and their residuals should be uncorrelated. ``expected`` is a matrix ``[d, K]`` of 0 and 1; without,
    each factor is expected in the one code that is matched to it by rank correlation, and nowhere else.

    ``parts["errors"]`` counts wrong entries, ``parts["floor"]`` is how many of them even the truth expects by chance,
    ``alpha`` times the zeros. Flaws: with many samples a trace of dependence is an error like a full one; with few,
    none is found. Factors count by their numbers, and what a polynomial of that degree leaves over of other factors may
    pass for dependence. A code without residual, such as an exact copy of another factor, counts as independent.
    """
    codes, factors = check_arrays(codes, factors, measured=True)
    if not 0 < alpha < 1:
        raise UsageError(f"alpha must lie between 0 and 1, got {alpha!r}")
    check_degree(degree)
    values = factors.astype(np.float64)
    wanted = _expected(expected, codes, values)
    chances = np.empty(wanted.shape)
    for factor in range(wanted.shape[1]):
        others = powers(np.delete(values, factor, axis=1), degree)
        chances[:, factor] = covariance_test(codes, values[:, factor], others)
    found = chances < alpha
    errors, floor = float((found != wanted).sum()), float(alpha * (~wanted).sum())
    parts: dict[str, Any] = {"errors": errors, "floor": floor, "found": found, "expected": wanted, "p_values": chances}
    return Score(
        "tmex",
        errors / wanted.size,
        parts={**parts, "missing": float((wanted & ~found).sum()), "unexpected": float((found & ~wanted).sum())},
        settings={
            "test": "generalised covariance measure",
            "alpha": alpha,
            "degree": degree,
            "samples": len(codes),
            "seed": check_seed(seed),
        },
    )


def _expected(given: ArrayLike | None, codes: np.ndarray, factors: np.ndarray) -> np.ndarray:
    shape = codes.shape[1], factors.shape[1]
    if given is None:
        matched, _ = match_codes(correlations(codes, factors, ["ordinal"] * shape[1], rank=True))
        wanted = np.zeros(shape, dtype=bool)
        for factor, code in enumerate(matched):
            if code >= 0:
                wanted[code, factor] = True
        return wanted
    wanted = np.asarray(given)
    if wanted.shape != shape or not np.isin(wanted, (0, 1)).all():
        raise UsageError(f"expected must be 0 and 1 of shape {list(shape)}, codes by factors; got {list(wanted.shape)}")
    return wanted.astype(bool)


def covariance_test(codes: np.ndarray, factor: np.ndarray, given: np.ndarray) -> np.ndarray:
    """P-values ``[d]`` that codes ``[n, d]`` and a factor are independent given columns that include a constant.

    >>> rng = np.random.default_rng(0)
    >>> common, own = rng.normal(size=(2, 2000))
    >>> columns = np.column_stack([common + rng.normal(size=2000), common + own])
    >>> covariance_test(columns, own, np.column_stack([np.ones(2000), common])) < 0.01
    array([False,  True])
    """
    from scipy.stats import norm

    together = np.column_stack([codes, factor])
    fitted = given @ np.linalg.lstsq(given, together, rcond=None)[0]
    residuals = together - fitted
    spread = together.std(axis=0)
    residuals[:, residuals.std(axis=0) <= 1e-9 * spread] = 0.0  # explained but for rounding
    products = residuals[:, :-1] * residuals[:, -1:]  # [n, d]
    deviation = products.std(axis=0)
    statistic = np.sqrt(len(products)) * products.mean(axis=0) / np.where(deviation > 0, deviation, 1.0)
    return np.where(deviation > 0, 2 * norm.sf(np.abs(statistic)), 1.0)

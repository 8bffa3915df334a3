"""InfoMEC: modularity, compactness and explicitness as information (Hsu, Dorrell, Whittington, Wu & Finn, 2023)."""

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError, unknown_name
from unbraid.metrics._discrete import Binning, code_information, entropy, identity_code, relabel
from unbraid.metrics._kinds import standardize
from unbraid.metrics._logistic import SOLVER, WHOLE, fit_logistic, log_probabilities
from unbraid.metrics._neighbours import information_with_labels
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Score, check_arrays, check_seed, check_values, generator

__all__ = ["infomec"]

Active = Literal["share", "qlae", "tripod"]
ESTIMATORS, RULES = ("neighbours", "bins", "values"), get_args(Active)
MOST_VALUES = 500
"""Of a factor; a regression with more classes takes minutes and says little."""

MOST_CODE_VALUES = 100
"""Of a code that is counted by its values, each of which is a column of the regression."""


@register(
    "infomec",
    range=UNIT,
    title="InfoMEC modularity",
    counts=True,
    discrete={"estimator": "values"},
    short="InfoM",
    about="modularity, compactness and explicitness as shares of information",
    parts={"infom": "InfoMEC modularity", "infoc": "InfoMEC compactness", "infoe": "InfoMEC explicitness"},
)
def infomec(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    estimator: Literal["neighbours", "bins", "values"] = "neighbours",
    neighbours: int = 10,
    bins: int = 20,
    active: Active = "share",
    min_range: float = 1 / 8,
    c: float = 1000.0,
    seed: int = 0,
) -> Score:
    """How far each code keeps to one factor (InfoM, the value), each factor to one code (InfoC), linear use (InfoE).

    With ``N`` the mutual information of code and factor in units of the factor's entropy: InfoM is the mean over active
    codes of ``max_k N / sum_k N``, InfoC the mean over factors of ``max_j N / sum_j N``, both moved so that a uniform
    share is 0 and a single one 1. InfoE is the mean over factors of ``1 - loss / log(values)``, the loss being that of
    a balanced logistic regression on the same samples. With no active code all three are 0. Parts: ``infom``,
    ``infoc``, ``infoe`` and their terms.

    Information is estimated by nearest neighbours (Ross, 2014), or with ``estimator="bins"`` by counting.
    ``estimator="values"`` is for codes of a few values each (``qlae``, ``fsq``): they are counted as they are, and the
    regression sees them one-hot, as published; a scalar regression would score the same code lower. The published
    regression is unpenalised, which has no answer for separable factors; here a faint penalty ``1 / c`` gives it one.

    Which codes are ``active`` moves InfoM and InfoC, and releases differ: ``share``, a range of at least ``min_range``
    of the largest; ``qlae``, a range above 0 for values and above 1/20 of the largest otherwise; ``tripod``, an
    interquartile range above 0.1, or above 1/10 of the largest. Scores by different rules cannot be compared.

    Flaws: neighbours look so closely that where the same images come again and again (more samples than images) every
    code seems to identify its image and so to know all factors; use ``"bins"`` there. Chance information of spare codes
    lowers InfoM and InfoC; activity by range depends on scale and outliers; with one active code InfoC is 1 by
    convention, with one factor InfoM is.
    """
    codes, factors = check_arrays(codes, factors)
    if estimator not in ESTIMATORS:
        raise unknown_name("estimator", estimator, ESTIMATORS)

    def normalized(codes: np.ndarray) -> np.ndarray:
        labels, _ = relabel(factors)
        if estimator != "neighbours":
            binning: Binning = "width" if estimator == "bins" else "values"
            return code_information(codes, factors, bins, binning) / entropy(factors)
        rng = generator(seed)
        table = [[information_with_labels(z, v, rng, neighbours=neighbours) for v in labels.T] for z in codes.T]
        return np.array(table) / entropy(factors)

    check_values(factors, MOST_VALUES)
    if estimator == "values":
        _check_few(codes)
    alive = _active(codes, active, min_range, discrete=estimator == "values")
    table = np.zeros((codes.shape[1], factors.shape[1]))
    if alive.any():
        table[alive] = normalized(codes[:, alive])
    per_code, per_factor = _shares(table[alive], axis=1), _shares(table[alive], axis=0)
    # Indicators hardly pull against each other: blocks per class find the same answer in a quarter of the time.
    read, whole = (_one_hot(codes[:, alive]), 500) if estimator == "values" else (codes[:, alive], WHOLE)
    explicit = _explicit(read, factors, c, whole)
    ideal = normalized(identity_code(factors))
    return Score(
        "infomec",
        float(per_code.mean()) if alive.any() else 0.0,
        float(_shares(ideal, axis=1).mean()),
        {
            "infom": float(per_code.mean()) if alive.any() else 0.0,
            "infoc": float(per_factor.mean()) if alive.any() else 0.0,
            "infoe": float(explicit.mean()),
            "infoc_ceiling": float(_shares(ideal, axis=0).mean()),
            "per_code": per_code,
            "per_factor": per_factor,
            "explicit_per_factor": explicit,
            "information": table,
            "active": alive,
        },
        {
            "estimator": estimator,
            "neighbours": neighbours if estimator == "neighbours" else None,
            "bins": bins if estimator == "bins" else None,
            "active": active,
            "min_range": min_range if active == "share" else None,
            "c": c,
            **SOLVER,
            "samples": len(codes),
            "seed": check_seed(seed),
        },
    )


def _active(codes: np.ndarray, rule: Active, min_range: float, *, discrete: bool) -> np.ndarray:
    """Which codes take part, bool ``[d]``."""
    if rule not in RULES:
        raise unknown_name("active", rule, RULES)
    reach = np.ptp(codes, axis=0) if rule != "tripod" else np.ptp(np.percentile(codes, [25, 75], axis=0), axis=0)
    if rule == "share":
        return (reach > 0) & (reach >= min_range * reach.max())
    if discrete:
        return reach > (0.1 if rule == "tripod" else 0)
    return reach > reach.max() / (10 if rule == "tripod" else 20)


def _check_few(codes: np.ndarray) -> None:
    for number, code in enumerate(codes.T):
        values = len(np.unique(code))
        if values > MOST_CODE_VALUES:
            raise UsageError(
                f'estimator="values" is for codes of at most {MOST_CODE_VALUES} values, and code {number} takes '
                f'{values} in {len(code)} samples; take estimator="neighbours", or "bins"'
            )


def _one_hot(codes: np.ndarray) -> np.ndarray:
    """A column for every value of every code, 1 where it is taken."""
    labels, sizes = relabel(codes)
    columns = [labels[:, j : j + 1] == np.arange(size) for j, size in enumerate(sizes)]
    return np.concatenate(columns, axis=1).astype(np.float64) if columns else codes


def _shares(table: np.ndarray, axis: int) -> np.ndarray:
    """Share of the largest entry along an axis, moved so that a uniform row gives 0; 0 for a row of zeros."""
    size = table.shape[axis]
    total = table.sum(axis=axis)
    if size == 0:
        return np.zeros(len(total))
    if size == 1:
        return (total > 0).astype(np.float64)
    share = np.where(total > 0, table.max(axis=axis) / np.where(total > 0, total, 1), 1 / size)
    return (share - 1 / size) / (1 - 1 / size)


def _explicit(codes: np.ndarray, factors: np.ndarray, c: float, whole: int) -> np.ndarray:
    labels, sizes = relabel(factors)
    if codes.shape[1] == 0:
        return np.zeros(len(sizes))
    features = standardize(codes)
    explicit = np.empty(len(sizes))
    for k, size in enumerate(sizes):
        logs = log_probabilities(fit_logistic(features, labels[:, k], c=c, balanced=True, whole=whole), features)
        explicit[k] = 1 + logs[np.arange(len(logs)), labels[:, k]].mean() / np.log(size)
    return explicit

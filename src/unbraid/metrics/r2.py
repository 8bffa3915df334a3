"""Share of each factor's variance that the codes explain: linearly, by their neighbours, or by trees."""

import math
from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import unknown_name
from unbraid.metrics._kinds import standardize, targets
from unbraid.metrics._registry import register
from unbraid.metrics._score import Sample, Score, check_arrays, check_kinds, check_seed, split

__all__ = ["r2", "shares_explained"]

Reader = Literal["linear", "neighbours", "trees"]
NEIGHBOURS = 10
ESTIMATORS: dict[Reader, str] = {
    "linear": "least squares",
    "neighbours": f"{NEIGHBOURS} nearest neighbours",
    "trees": "boosted trees (scikit-learn's HistGradientBoostingRegressor)",
}


@register("r2", range=(-math.inf, 1.0), title="R²", about="variance of factors explained linearly", measured=True)
def r2(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    test: tuple[ArrayLike, ArrayLike] | None = None,
    kinds: Sequence[str] | None = None,
    reader: Reader = "linear",
    seed: int = 0,
) -> Score:
    """Mean over factors of the R² on the test part of a least-squares fit from all codes.

    An ordinal factor is its value, a periodic one the cosine and sine of its angle, a categorical one its
    indicators; several columns share one R² (unexplained over total sum of squares). It measures what can be read off
    linearly, not disentanglement: any invertible linear mixture of codes scores the same. Constant codes give 0 or
    slightly less, and a bad fit to few samples can be far below 0. A code that holds these columns reaches 1.

    ``reader="neighbours"`` guesses the mean of the ten nearest codes instead, in the codes' own units, and so also sees
    what a code says along a curve; of codes that say nothing it gives about -0.1. In many dimensions even ten thousand
    codes are far apart, which costs it some hundredths. ``reader="trees"`` boosts trees instead, one sum of them per
    column, and comes nearest to all that codes tell. ``parts["accuracy"]`` is how often the largest guessed indicator
    of a categorical factor is the right one, and NaN for other factors.
    """
    if reader not in get_args(Reader):
        raise unknown_name("reader", str(reader), get_args(Reader))
    known = check_kinds(kinds, check_arrays(codes, factors, measured=True)[1])
    train, held_out = split(codes, factors, test=test, seed=seed, measured=True)
    per_factor, accuracy = _explained(train, held_out, known, _GUESS[reader])
    return Score(
        "r2",
        float(per_factor.mean()),
        1.0,
        {"per_factor": per_factor, "accuracy": accuracy},
        {
            "estimator": ESTIMATORS[reader],
            "kinds": list(known) if kinds is not None else None,
            "train": len(train[0]),
            "test": len(held_out[0]),
            "seed": check_seed(seed),
        },
    )


def _explained(
    train: Sample, test: Sample, kinds: Sequence[str], guess: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """R² of each factor, and the accuracy of those that are categorical."""
    values = [np.unique(np.concatenate([train[1][:, k], test[1][:, k]])) for k in range(len(kinds))]
    wanted, truth = (
        [targets(part[1][:, k], kind, values[k]) for k, kind in enumerate(kinds)] for part in (train, test)
    )
    guessed = guess(train[0], np.hstack(wanted), test[0])
    accuracy = np.full(len(kinds), np.nan)
    for k, (kind, columns) in enumerate(zip(kinds, _apart(guessed, truth), strict=True)):
        if kind == "categorical":
            accuracy[k] = (columns.argmax(axis=1) == truth[k].argmax(axis=1)).mean()
    return shares_explained(guessed, truth), accuracy


def _apart(guessed: np.ndarray, truth: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The columns of each target of those that stand side by side."""
    return np.split(guessed, np.cumsum([columns.shape[1] for columns in truth])[:-1], axis=1)


def shares_explained(guessed: np.ndarray, truth: Sequence[np.ndarray]) -> np.ndarray:
    """R² of each target, which may have several columns; those of all of them stand side by side in ``guessed``."""
    per_factor = np.empty(len(truth))
    for k, (columns, predicted) in enumerate(zip(truth, _apart(guessed, truth), strict=True)):
        total = ((columns - columns.mean(axis=0)) ** 2).sum()
        per_factor[k] = 1 - ((columns - predicted) ** 2).sum() / total if total > 0 else 0.0
    return per_factor


def _linear(codes: np.ndarray, wanted: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Targets ``[m, t]`` of the asked codes by a least-squares fit."""
    inputs = np.column_stack([standardize(codes), np.ones(len(codes))])
    queries = np.column_stack([standardize(asked, like=codes), np.ones(len(asked))])
    return queries @ np.linalg.lstsq(inputs, wanted, rcond=None)[0]


def _neighbours(codes: np.ndarray, wanted: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Targets of the asked codes as means over the nearest ones."""
    from scipy.spatial import cKDTree

    count = min(NEIGHBOURS, len(codes))
    nearest = cKDTree(codes).query(asked, count)[1].reshape(len(asked), count)
    return wanted[nearest].mean(axis=1)


def _trees(codes: np.ndarray, wanted: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Targets of the asked codes by boosted trees, a sum of them per column."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    grown = [
        HistGradientBoostingRegressor(early_stopping=False, random_state=0).fit(codes, column).predict(asked)
        for column in wanted.T
    ]
    return np.column_stack(grown)


_GUESS: dict[Reader, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "linear": _linear,
    "neighbours": _neighbours,
    "trees": _trees,
}

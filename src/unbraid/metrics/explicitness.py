"""Explicitness (Ridgeway & Mozer, 2018)."""

import numpy as np
from numpy.typing import ArrayLike

from unbraid.metrics._kinds import perfect_code, ranks, standardize
from unbraid.metrics._logistic import SOLVER, fit_logistic, log_probabilities
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Sample, Score, check_seed, split

__all__ = ["explicitness"]


@register("explicitness", range=UNIT, title="Explicitness", about="ROC area of logistic regressions on all codes")
def explicitness(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    test: tuple[ArrayLike, ArrayLike] | None = None,
    c: float = 1.0,
    rescale: bool = False,
    seed: int = 0,
) -> Score:
    """How well a logistic regression on all codes ranks the values of each factor: mean one-against-rest ROC area.

    Codes are standardised on the training part; the area is the mean over a factor's values (macro), then over factors,
    on the test part. Constant codes give one half.

    Flaw: chance is 0.5, not 0, so even poor codes look good; ``rescale=True`` reports ``2 AUC - 1``.
    """
    train, held_out = split(codes, factors, test=test, seed=seed)
    on_train, on_test = _areas(train, held_out, c)
    both = np.concatenate([train[1], held_out[1]])
    ideal = perfect_code(both)
    _, best = _areas((ideal[: len(train[0])], train[1]), (ideal[len(train[0]) :], held_out[1]), c)
    if rescale:
        on_train, on_test, best = 2 * on_train - 1, 2 * on_test - 1, 2 * best - 1
    return Score(
        "explicitness",
        float(on_test.mean()),
        float(best.mean()),
        {"per_factor": on_test, "per_factor_train": on_train, "train": float(on_train.mean())},
        {
            "estimator": "multinomial logistic regression",
            "c": c,
            **SOLVER,
            "rescale": rescale,
            "train": len(train[0]),
            "test": len(held_out[0]),
            "seed": check_seed(seed),
        },
    )


def _areas(train: Sample, test: Sample, c: float) -> tuple[np.ndarray, np.ndarray]:
    features, held_out = standardize(train[0]), standardize(test[0], like=train[0])
    areas = np.empty((2, train[1].shape[1]))
    for k in range(train[1].shape[1]):
        values, labels = np.unique(train[1][:, k], return_inverse=True)
        weights = fit_logistic(features, labels, c=c)
        for row, (points, truth) in enumerate(((features, train[1]), (held_out, test[1]))):
            hits = truth[:, k, None] == values
            areas[row, k] = macro_area(np.exp(log_probabilities(weights, points)), hits)
    return areas[0], areas[1]


def macro_area(scores: np.ndarray, hits: np.ndarray) -> float:
    """Mean area under the ROC curve over columns; columns without both hits and misses are left out.

    The area is the chance that a hit outranks a miss: ``(sum of hit ranks - m (m + 1) / 2) / (m (n - m))``.
    """
    m = hits.sum(axis=0)
    defined = (m > 0) & (m < len(hits))
    if not defined.any():
        return 0.5
    summed = (ranks(scores) * hits).sum(axis=0)
    return float(((summed - m * (m + 1) / 2)[defined] / (m * (len(hits) - m))[defined]).mean())

"""Downstream tasks: predict the factors from the codes with few and with many labels (Locatello et al., 2019)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError, unknown_name
from unbraid.metrics._boosting import fit_booster
from unbraid.metrics._kinds import perfect_code
from unbraid.metrics._logistic_cv import STRENGTHS, fit_logistic_cv
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Sample, Score, check_seed, generator, split

__all__ = ["LEARNERS", "SIZES", "downstream"]

SIZES = (10, 100, 1000, 10_000)
"""Numbers of labelled samples in the study."""

LEARNERS = {
    "lr": "logistic regression, L2 penalty by 5-fold cross-validation over 10 strengths",
    "gbt": "gradient-boosted trees, 100 stages of depth 3, exact splits",
    "hist": "histogram gradient boosting of scikit-learn; not comparable with published numbers",
}
"""What predicts the factors. ``hist`` is for factors of hundreds of values, where ``gbt`` takes minutes."""

Predict = Callable[[np.ndarray], np.ndarray]


@register("downstream", range=UNIT, title="Downstream accuracy", about="accuracy of classifiers on few and many labels")
def downstream(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    test: tuple[ArrayLike, ArrayLike] | None = None,
    sizes: Sequence[int] | None = None,
    learners: Sequence[str] = ("lr", "gbt"),
    threads: int = 1,
    seed: int = 0,
) -> Score:
    """Accuracy of simple classifiers that predict each factor from all codes, for growing numbers of labels.

    The value is the mean test accuracy over factors of the last learner (boosted trees) at the largest size, the
    ceiling what the same learner makes of a perfect code. ``parts[learner]`` holds ``train`` and ``test`` accuracies
    ``[size, factor]``, their mean and minimum over factors per size, and ``efficiency``: mean test accuracy with 100
    labels over that with 10,000 (``nan`` if one of them is not among the sizes).

    ``sizes`` are drawn from the training samples by ``seed``, the smaller ones inside the larger; by default those of
    the study (10, 100, 1000, 10,000) that there are samples for. A training set with a single value of a factor
    predicts it always; values missing from the training set are counted as errors. Flaw: a high accuracy says that the
    codes are informative, not that they are disentangled.
    """
    for learner in learners:
        if learner not in LEARNERS:
            raise unknown_name("learner", learner, LEARNERS)
    if not learners:
        raise UsageError(f"learners must name at least one of {', '.join(LEARNERS)}, got none")
    train, held_out = split(codes, factors, test=test, seed=seed)
    n = len(train[0])
    chosen = [size for size in SIZES if size <= n] if sizes is None else sorted({int(size) for size in sizes})
    if not chosen or chosen[0] < 1 or chosen[-1] > n:
        raise UsageError(f"sizes must lie between 1 and the {n} training samples, got {list(sizes or SIZES)}")

    order = generator(seed).permutation(n)
    parts: dict[str, Any] = {}
    for learner in learners:
        accuracy = np.array(
            [_accuracies(learner, _take(train, order[:size]), held_out, seed, threads) for size in chosen]
        )  # [size, train or test, factor]
        parts[learner] = _summary(accuracy, chosen)
    ideal = perfect_code(np.concatenate([train[1], held_out[1]]))
    largest = order[: chosen[-1]]
    perfect = (ideal[largest], train[1][largest]), (ideal[n:], held_out[1])
    best = _accuracies(learners[-1], *perfect, seed, threads)
    return Score(
        "downstream",
        float(parts[learners[-1]]["mean_test"][-1]),
        float(best[1].mean()),
        parts,
        {
            "estimator": {learner: LEARNERS[learner] for learner in learners},
            "strengths": STRENGTHS.tolist(),
            "sizes": chosen,
            "train": n,
            "test": len(held_out[0]),
            "seed": check_seed(seed),
        },
    )


def _take(sample: Sample, rows: np.ndarray) -> Sample:
    return sample[0][rows], sample[1][rows]


def _accuracies(learner: str, train: Sample, test: Sample, seed: int, threads: int) -> np.ndarray:
    """Accuracy on the training and on the test sample for each factor: ``[2, K]``."""
    table = np.empty((2, train[1].shape[1]))
    for k in range(table.shape[1]):
        predict = _fit(learner, train[0], train[1][:, k], seed, threads)
        for row, (codes, factors) in enumerate((train, test)):
            table[row, k] = np.mean(predict(codes) == factors[:, k])
    return table


def _fit(learner: str, codes: np.ndarray, labels: np.ndarray, seed: int, threads: int) -> Predict:
    if learner == "gbt" or np.ptp(labels) == 0:
        return fit_booster(codes, labels, seed=seed, threads=threads).predict
    if learner == "lr":
        return fit_logistic_cv(codes, labels).predict
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        loss="log_loss", learning_rate=0.1, max_iter=100, max_leaf_nodes=31, max_bins=255, early_stopping=False,
        random_state=seed,
    )  # fmt: skip
    found: Predict = model.fit(codes, labels).predict
    return found


def _summary(accuracy: np.ndarray, sizes: list[int]) -> dict[str, Any]:
    train, test = accuracy[:, 0], accuracy[:, 1]
    mean = dict(zip(sizes, test.mean(axis=1), strict=True))
    efficiency = float(mean[100] / mean[10_000]) if {100, 10_000} <= mean.keys() and mean[10_000] > 0 else float("nan")
    return {
        "train": train,
        "test": test,
        "mean_train": train.mean(axis=1),
        "mean_test": test.mean(axis=1),
        "min_train": train.min(axis=1),
        "min_test": test.min(axis=1),
        "efficiency": efficiency,
    }

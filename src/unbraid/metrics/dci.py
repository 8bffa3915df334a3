"""Disentanglement, completeness and informativeness (Eastwood & Williams, 2018)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError, unknown_name
from unbraid.metrics._boosting import fit_booster
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Sample, Score, check_seed, split

__all__ = ["BACKENDS", "concentration", "dci", "dci_of", "weighted_mean"]

BACKENDS = ("exact", "sklearn")
"""The compiled booster of this library, and scikit-learn's, which fits the same model and takes far longer."""


@register(
    "dci",
    range=UNIT,
    title="DCI disentanglement",
    short="DCI",
    about="concentration of boosted trees' importances per code and per factor",
    parts={
        "disentanglement": "DCI disentanglement",
        "completeness": "DCI completeness",
        "informativeness_test": "DCI informativeness",
    },
)
def dci(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    test: tuple[ArrayLike, ArrayLike] | None = None,
    backend: str = "exact",
    stages: int = 100,
    depth: int = 3,
    rate: float = 0.1,
    most_values: int | None = None,
    threads: int = 1,
    seed: int = 0,
) -> Score:
    """Does a code serve one factor (D, the value), is a factor served by one code (C), can they be predicted (I).

    One gradient-boosted classifier per factor sees all codes; its impurity importances make the matrix
    ``parts["importance"]`` ``[d, K]`` that D and C are read off (:func:`dci_of`). I is the mean accuracy over factors,
    on training and test data. The score depends on the estimator: other boosting libraries, forests and Lasso give
    other numbers for the same codes, so compare only scores with equal ``settings``. The defaults are those of
    scikit-learn and of the study of Locatello et al. (2019); ``backend="sklearn"`` runs scikit-learn itself, to check.

    A perfect code, one code per factor, has a diagonal importance matrix: the ceiling of D is 1. Fitted trees come near
    it (0.99 and more), since a code without information is now and then split on by chance. Codes without any
    information, for example constant ones, give D = C = 0. Flaw: importances of informative codes follow how deep the
    trees have to look, not how much a code tells, and shallow trees on a many-valued factor spread them. Trees see
    codes in single precision and take values within 1e-7 for equal, as scikit-learn's do: standardise smaller codes.
    Factors with more than ``most_values`` values, such as the number of a person, are left out.
    """
    if backend not in BACKENDS:
        raise unknown_name("backend", backend, BACKENDS)
    train, held_out = split(codes, factors, test=test, seed=seed)
    limited: dict[str, Any] = {}
    if most_values is not None:
        kept = [k for k in range(train[1].shape[1]) if len(np.unique(train[1][:, k])) <= most_values]
        if not kept:
            raise UsageError(f"every factor has more than {most_values} values (most_values); DCI needs classes")
        train, held_out = ((sample[0], sample[1][:, kept]) for sample in (train, held_out))
        limited = {"most_values": most_values, "kept_factors": kept}
    importance = np.zeros((train[0].shape[1], train[1].shape[1]))
    accuracy = np.zeros((2, train[1].shape[1]))
    options: dict[str, Any] = {"stages": stages, "depth": depth, "rate": rate, "seed": check_seed(seed)}
    for k in range(train[1].shape[1]):
        if backend == "exact":
            importance[:, k], accuracy[:, k] = _boost(train, held_out, k, threads=threads, **options)
        else:
            importance[:, k], accuracy[:, k] = _boost_sklearn(train, held_out, k, **options)
    disentanglement, completeness, per_code, per_factor = dci_of(importance)
    return Score(
        "dci",
        disentanglement,
        1.0,
        {
            "disentanglement": disentanglement,
            "completeness": completeness,
            "informativeness_train": float(accuracy[0].mean()),
            "informativeness_test": float(accuracy[1].mean()),
            "importance": importance,
            "disentanglement_per_code": per_code,
            "completeness_per_factor": per_factor,
            "accuracy_train_per_factor": accuracy[0],
            "accuracy_test_per_factor": accuracy[1],
        },
        {
            "estimator": "gradient-boosted trees, log loss, exact splits",
            "backend": backend,
            **options,
            **limited,
            "train": len(train[0]),
            "test": len(held_out[0]),
        },
    )


def dci_of(importance: ArrayLike) -> tuple[float, float, np.ndarray, np.ndarray]:
    """Disentanglement, completeness, and both per code and per factor, of an importance matrix ``[d, K]``.

    A code's disentanglement is one minus the entropy, in base K, of its importances over factors; a factor's
    completeness one minus the entropy, in base d, over codes. The means weigh codes and factors by their share of all
    importance. With one factor (K = 1) or one code (d = 1) there is nothing to confuse and the score is 1, or 0 without
    any importance.

    >>> disentanglement, completeness, _, _ = dci_of([[1, 0], [1, 0], [0, 2]])
    >>> print(round(disentanglement, 6), round(completeness, 3))
    1.0 0.685
    """
    matrix = np.abs(np.asarray(importance, dtype=float))
    per_code = concentration(matrix)
    per_factor = concentration(matrix.T)
    return (
        weighted_mean(per_code, matrix.sum(axis=1)),
        weighted_mean(per_factor, matrix.sum(axis=0)),
        per_code,
        per_factor,
    )


def concentration(rows: np.ndarray) -> np.ndarray:
    """One minus the normalised entropy of every row; 0 for a row of zeros."""
    shares = rows + 1e-11
    shares = shares / shares.sum(axis=1, keepdims=True)
    entropy = -(shares * np.log(shares)).sum(axis=1) / max(np.log(rows.shape[1]), np.finfo(float).tiny)
    return np.where(rows.any(axis=1), np.clip(1 - entropy, 0, 1), 0.0)


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> float:
    """Mean by weight; the plain mean if all weights are 0."""
    return float(np.average(values, weights=weights if weights.any() else None))


def _boost(
    train: Sample, test: Sample, k: int, *, stages: int, depth: int, rate: float, seed: int, threads: int
) -> tuple[np.ndarray, tuple[float, float]]:
    model = fit_booster(train[0], train[1][:, k], stages=stages, depth=depth, rate=rate, seed=seed, threads=threads)
    return model.importances, (model.train_accuracy, float(np.mean(model.predict(test[0]) == test[1][:, k])))


def _boost_sklearn(
    train: Sample, test: Sample, k: int, *, stages: int, depth: int, rate: float, seed: int
) -> tuple[np.ndarray, tuple[float, float]]:
    from sklearn.ensemble import GradientBoostingClassifier

    model = GradientBoostingClassifier(
        loss="log_loss",
        n_estimators=stages,
        max_depth=depth,
        learning_rate=rate,
        subsample=1.0,
        min_samples_split=2,
        min_samples_leaf=1,
        max_features=None,
        random_state=seed,
    )
    model.fit(train[0], train[1][:, k])
    return model.feature_importances_, (model.score(train[0], train[1][:, k]), model.score(test[0], test[1][:, k]))

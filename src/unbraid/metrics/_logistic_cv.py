"""Logistic regression whose L2 penalty is chosen by cross-validation, quick enough for many classes."""

from dataclasses import dataclass

import numpy as np

__all__ = ["STRENGTHS", "LogisticCV", "fit_logistic_cv"]

STRENGTHS = np.logspace(-4, 4, 10)
"""Inverse penalties C that are tried, the grid of scikit-learn's ``LogisticRegressionCV``."""

MAX_ITER = 1000
RESTART = 20  # iterations before the coordinates are chosen anew
SAMPLE = 2000  # rows that suffice to choose the coordinates
TOLERANCE = 1e-4  # largest entry of the gradient of the mean loss in coordinates in which curvature is about 1


@dataclass(frozen=True)
class LogisticCV:
    """A fitted classifier."""

    classes: np.ndarray
    """Labels seen in training, ascending."""
    weights: np.ndarray
    """One row per class, intercepts in the last column."""
    strength: float
    """The inverse penalty chosen; ``nan`` if there was only one class and nothing to fit."""

    def predict(self, codes: np.ndarray) -> np.ndarray:
        """The most likely label of every sample."""
        return self.classes[np.argmax(_with_ones(codes) @ self.weights.T, axis=1)]


def fit_logistic_cv(codes: np.ndarray, labels: np.ndarray, *, folds: int = 5) -> LogisticCV:
    """Fit what ``LogisticRegressionCV(Cs=10, cv=KFold(5), scoring="accuracy")`` of scikit-learn converges to.

    Folds are consecutive, without shuffling. The smallest C among those of highest mean accuracy wins and is fitted
    again on all samples; the loss is multinomial, intercepts are not penalised. Folds that miss a class are fitted on
    the classes they have, a single class is always answered.
    """
    n = len(codes)
    rows = _with_ones(np.asarray(codes, dtype=float))
    classes, encoded = np.unique(np.asarray(labels), return_inverse=True)
    if len(classes) == 1:
        return LogisticCV(classes, np.zeros((1, rows.shape[1])), float("nan"))
    accuracy = np.zeros(len(STRENGTHS))
    for fold in np.array_split(np.arange(n), min(folds, n)):
        kept = np.ones(n, dtype=bool)
        kept[fold] = False
        seen, own = np.unique(encoded[kept], return_inverse=True)
        weights = np.zeros((len(seen), rows.shape[1]))
        for c, strength in enumerate(STRENGTHS):
            weights = _fit(rows[kept], own, weights, strength)
            accuracy[c] += np.mean(seen[np.argmax(rows[fold] @ weights.T, axis=1)] == encoded[fold])
    # Sums over folds in different orders must not break a tie between strengths that are equally good.
    best = int(np.argmax(np.round(accuracy, 9)))
    weights = np.zeros((len(classes), rows.shape[1]))
    for strength in STRENGTHS[: best + 1]:
        weights = _fit(rows, encoded, weights, strength)
    return LogisticCV(classes, weights, float(STRENGTHS[best]))


def _with_ones(codes: np.ndarray) -> np.ndarray:
    return np.hstack([codes, np.ones((len(codes), 1))])


def _fit(rows: np.ndarray, labels: np.ndarray, start: np.ndarray, strength: float) -> np.ndarray:
    """Weights ``[classes, d + 1]`` that minimise the mean log loss plus ``|w|^2 / (2 C n)``.

    L-BFGS in coordinates in which the curvature at the starting point is the identity, started over from where it
    stands every few iterations: near separable classes plain L-BFGS needs thousands.
    """
    from scipy.linalg import solve_triangular
    from scipy.optimize import minimize

    n, width = rows.shape
    classes = len(start)
    if classes == 1:
        return start
    if classes == 2:
        strength = strength / 2  # two classes share one penalised line; as two opposite halves it costs half as much
    penalty = np.full(width, 1 / (strength * n))
    penalty[-1] = 0.0
    index = np.arange(n)

    def loss(flat: np.ndarray, root: np.ndarray) -> tuple[float, np.ndarray]:
        weights = solve_triangular(root, flat, lower=True, trans="T", check_finite=False).reshape(classes, width)
        scores = rows @ weights.T
        scores -= scores.max(axis=1, keepdims=True)
        fitted = scores[index, labels].sum()
        chances = np.exp(scores, out=scores)
        sums = chances.sum(axis=1, keepdims=True)
        value = (np.log(sums).sum() - fitted) / n + 0.5 * (penalty * weights**2).sum()
        chances /= sums
        chances[index, labels] -= 1
        slope = chances.T @ rows / n + penalty * weights
        return value, solve_triangular(root, slope.ravel(), lower=True, check_finite=False)

    weights = start
    options = {"maxiter": RESTART, "maxcor": RESTART, "gtol": TOLERANCE, "ftol": 0.0}
    for _ in range(MAX_ITER // RESTART):
        root = np.linalg.cholesky(_curvature(rows[:: -(-n // SAMPLE)], weights, penalty))
        found = minimize(loss, root.T @ weights.ravel(), (root,), jac=True, method="L-BFGS-B", options=options)
        weights = solve_triangular(root, found.x, lower=True, trans="T").reshape(classes, width)
        if np.abs(found.jac).max() <= TOLERANCE or found.nit == 0:
            break
    return weights


def _curvature(rows: np.ndarray, weights: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Second derivative of the mean loss in all weights, square, with a little on the diagonal to be invertible."""
    from scipy.special import softmax

    (classes, width), n = weights.shape, len(rows)
    chances = softmax(rows @ weights.T, axis=1)
    weighted = (chances[:, :, None] * rows[:, None, :]).reshape(n, classes * width)
    matrix = -(weighted.T @ weighted) / n
    own = (weighted.T @ rows / n).reshape(classes, width, width)
    for k in range(classes):
        block = slice(k * width, (k + 1) * width)
        matrix[block, block] += own[k]
    # In proportion to each column, because columns may differ in scale by orders of magnitude.
    little = 1e-10 * np.einsum("ij,ij->j", rows, rows) / n
    matrix[np.diag_indices(classes * width)] += np.tile(penalty + little, classes)
    return matrix

"""Multinomial logistic regression with every choice written down."""

import warnings

import numpy as np

__all__ = ["SOLVER", "fit_logistic", "log_probabilities"]

SOLVER = {"solver": "lbfgs", "tol": 1e-4, "max_iter": 1000}
"""Written into the settings of every score that fits one."""


def fit_logistic(features: np.ndarray, labels: np.ndarray, *, c: float, balanced: bool = False) -> np.ndarray:
    """Weights ``[classes, d + 1]``, intercepts last, of an L2-penalised softmax regression on labels ``0..classes-1``.

    Two classes share one line, as in binary logistic regression. Stopping at ``max_iter`` is part of the estimator
    and not reported: scores read predictions, which settle long before the weights do.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=c, fit_intercept=True, class_weight="balanced" if balanced else None, **SOLVER)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(features, labels)
    weights = np.hstack([model.coef_, model.intercept_[:, None]])
    return np.vstack([np.zeros_like(weights), weights]) if len(weights) == 1 else weights


def log_probabilities(weights: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Log-probability of each class for each row: ``[n, classes]``."""
    from scipy.special import log_softmax

    return log_softmax(features @ weights[:, :-1].T + weights[:, -1], axis=1)

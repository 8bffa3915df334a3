"""Multinomial logistic regression by Newton's method, with every choice written down."""

from collections.abc import Callable

import numpy as np

__all__ = ["SOLVER", "fit_logistic", "log_probabilities"]

_TOLERANCE = 1e-6
_ITERATIONS = 100
WHOLE = 4_000
"""Weights of a regression whose Hessian still fits, as a preconditioner."""
SOLVER = {"solver": "newton-cg", "tol": _TOLERANCE, "max_iter": _ITERATIONS}
"""Written into the settings of every score that fits one; ``tol`` bounds the gradient of the mean loss on standardised
codes."""


def fit_logistic(
    features: np.ndarray, labels: np.ndarray, *, c: float, balanced: bool = False, whole: int = WHOLE
) -> np.ndarray:
    """Weights ``[classes, d + 1]``, intercepts last, of an L2-penalised softmax regression on labels ``0..classes-1``.

    Minimises ``c * sum of losses + 0.5 |w|^2`` without penalising intercepts, as scikit-learn does; with ``balanced`` a
    sample of class ``k`` weighs ``n / (classes * n_k)``. Two classes share one line, so their penalty counts double.
    Newton steps are solved by conjugate gradients, preconditioned by the Hessian of a part of the samples: collinear
    codes and nearly separable classes, where first-order solvers crawl or stop early, cost no more than others. Codes
    may have any scale and offset: the work is done on standardised ones, whose penalties are adjusted to give the same
    answer. ``whole`` is the number of weights up to which that Hessian is taken whole, which changes the time alone.
    """
    n, classes = len(labels), int(labels.max()) + 1
    centre, spread, alive = _scales(features, c)
    points = np.hstack([np.where(alive, (features - centre) / spread, 0.0), np.ones((n, 1))])
    counts = np.bincount(labels, minlength=classes)
    sample_weight = (n / (classes * counts))[labels] if balanced else np.ones(n)
    penalty = np.append((2 if classes == 2 else 1) / c / spread**2, 0.0)
    rows = np.arange(n)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = points @ weights.T
        scores -= scores.max(axis=1, keepdims=True)
        picked = scores[rows, labels]
        np.exp(scores, out=scores)
        total = scores.sum(axis=1)
        scores /= total[:, None]
        fit = sample_weight @ (np.log(total) - picked)
        return float(fit + 0.5 * (penalty * weights**2).sum()), scores

    weights = np.zeros((classes, points.shape[1]))
    value, chances = loss(weights)
    for _ in range(_ITERATIONS):
        error = chances * sample_weight[:, None]
        error[rows, labels] -= sample_weight
        gradient = error.T @ points + penalty * weights
        if np.abs(gradient).max() <= _TOLERANCE * n:
            break
        step = _newton_step(points, chances, sample_weight, penalty, gradient, whole)
        slope = float((gradient * step).sum())
        length = 1.0
        while length > 1e-10:
            moved, new = loss(weights + length * step)
            if moved <= value + 1e-4 * length * slope:
                break
            length /= 2
        weights, value, chances = weights + length * step, moved, new
    slopes = np.where(alive, weights[:, :-1] / spread, 0.0)
    return np.column_stack([slopes, weights[:, -1] - slopes @ centre])


def _scales(features: np.ndarray, c: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and standard deviation of every code, and which codes can matter.

    A code so small that its penalty outweighs all samples a billionfold would get a weight that changes nothing; it and
    constant codes are left at 0 and have the spread 1.
    """
    centre, spread = features.mean(axis=0), features.std(axis=0)
    alive = (spread > 1e-13 * np.abs(centre)) & (spread > 1e-5 / np.sqrt(c * len(features)))
    return centre, np.where(alive, spread, 1.0), alive


def _newton_step(
    points: np.ndarray,
    chances: np.ndarray,
    sample_weight: np.ndarray,
    penalty: np.ndarray,
    gradient: np.ndarray,
    whole: int,
) -> np.ndarray:
    """Solve ``H step = -gradient`` well enough for the next Newton iterate to profit (Dembo & Steihaug, 1983)."""
    precondition = _rough_inverse(points, chances, sample_weight, penalty, whole)
    weighted = chances * sample_weight[:, None]

    def curve(direction: np.ndarray) -> np.ndarray:
        shift = points @ direction.T
        shift -= np.einsum("nk,nk->n", chances, shift)[:, None]
        shift *= weighted
        return shift.T @ points + penalty * direction

    step = np.zeros_like(gradient)
    residual = -gradient
    ready = precondition(residual)
    direction, along = ready, float((residual * ready).sum())
    goal = along * min(0.1, np.abs(gradient).max() / len(points)) ** 2
    for _ in range(100):
        bent = curve(direction)
        bend = float((direction * bent).sum())
        if bend <= 0:
            break
        step = step + along / bend * direction
        residual = residual - along / bend * bent
        ready = precondition(residual)
        before, along = along, float((residual * ready).sum())
        if along <= goal:
            break
        direction = ready + along / before * direction
    return step if step.any() else -gradient


def _rough_inverse(
    points: np.ndarray, chances: np.ndarray, sample_weight: np.ndarray, penalty: np.ndarray, whole: int
) -> Callable[[np.ndarray], np.ndarray]:
    """An approximate inverse of the Hessian, from at most 2,000 samples.

    Neighbouring values of a factor pull against each other, so blocks per class would leave most of the work to the
    conjugate gradients; only where the whole matrix would not fit do blocks have to do.
    """
    from scipy.linalg import cho_factor, cho_solve

    (n, p), classes = points.shape, chances.shape[1]
    some = np.random.default_rng(0).choice(n, min(n, 2_000), replace=False)
    x, q, weight = points[some], chances[some], sample_weight[some] * n / len(some)
    blocks = np.stack([(x * column[:, None]).T @ x for column in (q * weight[:, None]).T]) + np.diag(penalty)
    if classes * p > whole:
        little = 1e-7 * np.einsum("kii->ki", blocks) + 1e-12
        inverse = np.linalg.inv(blocks + little[:, :, None] * np.eye(p))
        return lambda residual: np.einsum("kij,kj->ki", inverse, residual)
    crossed = (np.sqrt(weight)[:, None, None] * q[:, :, None] * x[:, None, :]).reshape(len(some), classes * p)
    hessian = -(crossed.T @ crossed)
    each = np.arange(classes)
    hessian.reshape(classes, p, classes, p)[each, :, each, :] += blocks
    # Equal shifts of all intercepts change nothing: give that direction some stiffness, and every one a little.
    hessian.reshape(classes, p, classes, p)[:, -1, :, -1] += blocks[:, -1, -1].mean() / classes
    hessian[np.diag_indices(classes * p)] += 1e-7 * np.einsum("kii->ki", blocks).ravel() + 1e-12
    factor = cho_factor(hessian, overwrite_a=True, check_finite=False)
    return lambda residual: cho_solve(factor, residual.reshape(-1), check_finite=False).reshape(classes, p)


def log_probabilities(weights: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Log-probability of each class for each row: ``[n, classes]``."""
    from scipy.special import log_softmax

    return log_softmax(features @ weights[:, :-1].T + weights[:, -1], axis=1)

"""Probabilities of classes from energies that may all be high: sure of nothing far from every class."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from unbraid.errors import UsageError, UsageWarning

__all__ = ["PUBLISHED", "Calibration", "calibrate", "posterior"]

ENOUGH = 1e-3
"""Nats of cross-entropy that make no difference."""
LARGEST = 700
"""Exponents that floats hold, of both signs."""
MEDIAN = 0.9
"""What the median confidence on clean images is brought to."""


@dataclass(frozen=True)
class Calibration:
    """Scale of the scores, and what keeps the posterior even where no class explains an image."""

    alpha: float = 1.0
    eta: float = 0.0

    def __post_init__(self) -> None:
        if not (0 < self.alpha < np.inf and 0 <= self.eta < np.inf):
            raise UsageError(f"alpha must be above 0 and eta must not be negative, got {self.alpha} and {self.eta}")


PUBLISHED = Calibration(440 / 784, 3.9e-5)
"""Of Schott et al. (2019) for ABS on MNIST; the printed 440 multiplies energies divided by the number of pixels."""


def posterior(scores: Any, calibration: Calibration = PUBLISHED) -> np.ndarray:
    """``(exp(alpha l_c) + eta) / sum (exp(alpha l) + eta)`` of scores ``[n, classes]``, computed by logarithms.

    The class with the highest score keeps the highest probability; where all scores are low it is one among equals.
    """
    with np.errstate(divide="ignore"):
        return _shares(_checked(scores), calibration.alpha, float(np.log(calibration.eta)))


def _shares(given: np.ndarray, alpha: float, log_eta: float) -> np.ndarray:
    logs = np.logaddexp(alpha * given, log_eta)
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    found: np.ndarray = shares / shares.sum(axis=1, keepdims=True)
    return found


def calibrate(scores: Any, labels: Any, *, median: float = MEDIAN) -> Calibration:
    """Fit alpha by cross-entropy without eta, then eta so that the median confidence of images is ``median``.

    Fit it on images that were not trained on. Where confidence is below ``median`` without eta already, eta stays 0
    and a warning says so. Scores so far from 0 that no float holds their eta are refused.
    """
    given, classes = _checked(scores), np.asarray(labels)
    if classes.shape != (len(given),) or classes.dtype.kind not in "iu":
        raise UsageError(
            f"labels must be {len(given)} classes, one per row of scores, got {classes.dtype} {classes.shape}"
        )
    if classes.min() < 0 or classes.max() >= given.shape[1]:
        raise UsageError(f"labels must lie in 0..{given.shape[1] - 1}, the columns of scores, got {classes.max()}")
    if not 1 / given.shape[1] < median < 1:
        raise UsageError(f"median must lie between {1 / given.shape[1]:.3g} (chance) and 1, got {median}")

    def entropy(log_alpha: float) -> float:
        chances = log_softmax(np.exp(log_alpha) * given, axis=1)
        return -float(chances[np.arange(len(given)), classes].mean())

    spread = np.ptp(given, axis=1).mean()
    middle = -np.log(max(spread, 1e-12))
    best = minimize_scalar(entropy, bounds=(middle - 12, middle + 12), method="bounded")
    # Where every image is right, ever larger numbers are as good: the smallest that is about as good is meant.
    log_alpha, least = float(best.x), entropy(float(best.x)) + ENOUGH
    low, high = middle - 12, log_alpha
    for _ in range(60):
        half = (low + high) / 2
        low, high = (low, half) if entropy(half) <= least else (half, high)
    alpha = float(np.exp(high))

    def confidence(log_eta: float) -> float:
        return float(np.median(_shares(given, alpha, log_eta).max(1)))

    if confidence(-np.inf) < median:
        warnings.warn(
            f"the median confidence is below {median:g} without eta, which stays 0: scores hardly tell classes apart",
            UsageWarning,
            stacklevel=2,
        )
        return Calibration(alpha)
    low, high = alpha * given.min() - 50, alpha * given.max() + 50  # confidence falls as eta grows
    for _ in range(200):
        half = (low + high) / 2
        low, high = (half, high) if confidence(half) > median else (low, half)
    log_eta = (low + high) / 2
    if abs(log_eta) > LARGEST:
        raise UsageError(
            f"scores are too far from 0: with alpha {alpha:.3g}, eta would be e^{log_eta:.0f}, which no float holds; "
            "subtract the same number, such as their median, from all scores"
        )
    return Calibration(alpha, float(np.exp(log_eta)))


def _checked(scores: Any) -> np.ndarray:
    found = np.asarray(scores, dtype=np.float64)
    if found.ndim != 2 or found.shape[1] < 2 or not len(found):
        raise UsageError(f"scores must be [n, classes] with two classes or more, got shape {found.shape}")
    if not np.isfinite(found).all():
        raise UsageError("scores must be finite numbers, got NaN or infinity")
    return found

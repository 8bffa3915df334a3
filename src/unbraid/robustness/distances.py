"""What smallest distances of images tell: medians, accuracies at bounds and curves, with intervals over images.

Images that are named wrong as they are have distance 0, those that nothing was found for an infinite one
(Schott et al., 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbraid.data import Purpose, counter_rng
from unbraid.errors import UsageError

__all__ = [
    "AccuracyCurve",
    "accuracy_at",
    "accuracy_curve",
    "accuracy_interval",
    "check_distances",
    "fooled_within",
    "median_distance",
    "median_interval",
    "nearest_of",
]

ROUNDING = 1e-4
"""By so much bounds may be missed for want of digits."""
RESAMPLES = 1000
POINTS = 121
HELD = 1 << 20
"""So many numbers are drawn at a time."""


@dataclass(frozen=True)
class AccuracyCurve:
    """The share of images that are still named right as the allowed distance grows, with a band of 95 % around it."""

    bounds: np.ndarray
    accuracy: np.ndarray
    low: np.ndarray
    high: np.ndarray


def median_distance(distances: Any) -> float:
    """The ordinary median, the mean of the two in the middle if there are two; infinite if one of them is.

    >>> median_distance([0, 1, 2, np.inf])
    1.5
    """
    return float(np.median(check_distances(distances)))


def accuracy_at(distances: Any, bound: float) -> float:
    """The share of images whose distance is larger than the bound.

    >>> accuracy_at([0, 1, 2, np.inf], 1.5)
    0.5
    """
    return float((check_distances(distances) > _bound(bound)).mean())


def nearest_of(distances: Mapping[str, Any]) -> np.ndarray:
    """Of each image the smallest distance that any of several attacks found; all must be of the same images."""
    rows = [check_distances(each) for each in distances.values()]
    if not rows:
        raise UsageError("distances must be of at least one attack, got none")
    if len({len(row) for row in rows}) > 1:
        shown = ", ".join(f"{name} {len(row)}" for name, row in zip(distances, rows, strict=True))
        raise UsageError(f"distances must be of the same images for every attack, got {shown}")
    nearest: np.ndarray = np.min(rows, axis=0)
    return nearest


def fooled_within(distances: Any, bounds: Any) -> int:
    """How many images an attack fooled nearer than they were bounded: none, unless a bound is wrong.

    >>> fooled_within([0.5, 1.0, 2.0], [0.7, 0.9, 0.9])
    1
    """
    return int((check_distances(distances) < np.asarray(bounds, dtype=np.float64) - ROUNDING).sum())


def median_interval(distances: Any, *, seed: int = 0) -> tuple[float, float]:
    """95 % of the median, by drawing images again."""
    found = check_distances(distances)
    return _interval(found, lambda drawn: np.median(drawn, axis=1), seed)


def accuracy_interval(distances: Any, bound: float, *, seed: int = 0) -> tuple[float, float]:
    """95 % of the accuracy at a bound, by drawing images again."""
    right = check_distances(distances) > _bound(bound)
    return _interval(right, lambda drawn: drawn.mean(axis=1), seed)


def accuracy_curve(distances: Any, bounds: Any = None, *, seed: int = 0) -> AccuracyCurve:
    """Accuracy over the bound, from 0 to the largest distance that was found unless ``bounds`` are told.

    The band holds 95 % of the accuracies of images that are drawn again, at each bound by itself.

    >>> accuracy_curve([0, 1, 2, np.inf], [0, 1, 1.5]).accuracy.tolist()
    [0.75, 0.5, 0.5]
    """
    found = check_distances(distances)
    if bounds is None:
        most = float(found[np.isfinite(found)].max(initial=0.0)) or 1.0
        bounds = np.linspace(0, most, POINTS)
    at = np.asarray(bounds, dtype=np.float64)
    if at.ndim != 1 or not at.size or not np.isfinite(at).all() or (at < 0).any():
        raise UsageError(f"bounds must be numbers from 0, got shape {list(at.shape)}")
    right = found[:, None] > at  # [images, bounds]
    shares = []
    for part in _draws(len(found), seed):
        times = np.stack([np.bincount(row, minlength=len(found)) for row in part])  # how often each image was drawn
        shares.append(times.astype(np.float64) @ right / len(found))
    drawn = np.sort(np.concatenate(shares), axis=0)
    low, high = drawn[int(0.025 * RESAMPLES)], drawn[int(0.975 * RESAMPLES) - 1]
    return AccuracyCurve(at, right.mean(axis=0), low, high)


def check_distances(values: Any) -> np.ndarray:
    """Distances as float64 ``[n]``: numbers from 0, infinite ones among them."""
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not found.size or np.isnan(found).any() or (found < 0).any():
        raise UsageError(f"distances must be numbers from 0, one per image, got shape {list(found.shape)}")
    return found


def _bound(value: float) -> float:
    if not 0 <= value < np.inf:
        raise UsageError(f"bound must be a number from 0, got {value}")
    return value


def _interval(values: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray], seed: int) -> tuple[float, float]:
    drawn = np.sort(np.concatenate([statistic(values[part]) for part in _draws(len(values), seed)]))
    return float(drawn[int(0.025 * RESAMPLES)]), float(drawn[int(0.975 * RESAMPLES) - 1])


def _draws(count: int, seed: int) -> Iterator[np.ndarray]:
    """Images drawn again, ``[resamples, count]`` in parts."""
    rng, block = counter_rng(seed, 0, Purpose.RESAMPLED), max(1, HELD // count)
    for start in range(0, RESAMPLES, block):
        yield rng.integers(count, size=(min(block, RESAMPLES - start), count))

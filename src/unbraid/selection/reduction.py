"""Cutting a data set down to images that hardly differ in what was already learned (Estermann, Marks & Yanik, 2020).

Nothing is removed from the images: kept are those whose encodings lie on one plateau of every active latent, so that
the factors behind these latents stand still and the next model has to explain what still moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.signal import find_peaks

from unbraid.errors import UsageError

__all__ = ["CannotReduce", "Cut", "Interval", "Reduction", "cut_latent", "reduce_dataset"]

FLOOR = 1e-12
"""Smallest mean derivative: a perfectly flat plateau has a large quality, not an infinite one."""


class CannotReduce(Exception):
    """The variance of a set is explained: no latent jumps any more, or no plateaus have images in common."""


@dataclass(frozen=True)
class Interval:
    """The images between two borders of one latent: sorted positions ``start .. stop - 1``."""

    start: int
    stop: int
    quality: float
    """Height of the lower of its two walls in units of the mean derivative between them."""

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True)
class Cut:
    """One latent: its sorted encodings, where they jump, and the intervals between, best first."""

    order: np.ndarray
    """Positions of the images in ascending order of their encoding."""
    values: np.ndarray
    """Encodings in that order, ``[n]``."""
    threshold: float
    """Smallest derivative that may be a peak."""
    peaks: np.ndarray
    """Peak ``k`` is the jump between sorted positions ``k`` and ``k + 1``."""
    intervals: tuple[Interval, ...]

    @property
    def derivative(self) -> np.ndarray:
        """Difference of neighbours in the sorted encodings, ``[n - 1]``."""
        return np.diff(self.values)

    @property
    def edge(self) -> int:
        """How many derivatives at either end are not looked at."""
        return (len(self.values) - 1) // 15


@dataclass(frozen=True)
class Reduction:
    """A reduced set and how it was chosen."""

    indices: np.ndarray
    """Positions of the kept images in the set that was reduced, ascending."""
    cuts: tuple[Cut, ...]
    """One per active latent."""
    chosen: tuple[Interval, ...]
    """The interval of each latent in which all kept images lie."""
    sizes: np.ndarray
    """Numbers of images of all candidates, in the order of their rank."""
    rank: int

    @property
    def peaks(self) -> tuple[np.ndarray, ...]:
        """Peaks of each latent."""
        return tuple(cut.peaks for cut in self.cuts)

    @property
    def quality(self) -> tuple[float, ...]:
        """Quality of each chosen interval."""
        return tuple(interval.quality for interval in self.chosen)


def reduce_dataset(
    values: ArrayLike,
    *,
    rank: int = 0,
    top: int = 5,
    prefer: Literal["median", "largest"] = "median",
    trim: float = 0.0,
    smallest: int = 6,
    compat: bool = False,
) -> Reduction:
    """The images on one combination of plateaus, from encodings ``[n, a]`` of the active latents.

    The ``top`` flattest intervals of every latent are combined in every way; combinations with fewer than ``smallest``
    images are dropped, and the others ranked by how close they are to the median size (``prefer="largest"``: by size).
    ``rank`` chooses among them, so that leaf-runs freeze different plateaus. A single latent is cut by the quality of
    its intervals alone, and ``trim`` takes away that fraction of the chosen one at both ends.

    ``compat=True`` repeats three habits of the published code: an interval takes one image of its left neighbour and
    loses its own last one, the mean derivative includes the left wall, and a missing outer wall counts as 1 high.

    Trap: peaks are found in any encodings, also in 10,000 draws from a Gaussian (about five). That a set can
    be cut does not show that something was learned.

    Raises:
        CannotReduce: A latent has no peak, no combination is large enough, or there are not ``rank + 1`` of them.

    >>> plateau = np.repeat([0.0, 1.0, 3.0, 4.5], 50)  # the third has the highest walls
    >>> found = reduce_dataset((plateau + np.linspace(0, 0.01, 200))[:, None])
    >>> found.peaks[0], found.indices[[0, -1]]
    (array([ 49,  99, 149]), array([100, 149]))
    """
    array = _check(values, rank, top, prefer, trim)
    cuts = tuple(cut_latent(column, several=array.shape[1] > 1, compat=compat) for column in array.T)
    for latent, cut in enumerate(cuts):
        if not cut.intervals:
            raise CannotReduce(f"latent {latent} of {len(cuts)} has no peak to cut at: {len(array)} images")
    if len(cuts) == 1:
        return _single(cuts[0], rank, trim)
    return _combined(cuts, rank, top, prefer, smallest)


def cut_latent(values: np.ndarray, *, several: bool = False, compat: bool = False) -> Cut:
    """Find the jumps in one latent's encodings ``[n]`` and rank the intervals between them.

    ``several`` says that other latents are active too: with up to three peaks the two outer intervals then count as
    well, because few plateaus lie between peaks.
    """
    order = np.argsort(values, kind="stable")
    values = values[order]
    derivative = np.diff(values)
    m = len(derivative)
    edge = m // 15
    middle = derivative[edge : m - edge]
    if len(middle) == 0:
        return Cut(order, values, np.inf, np.empty(0, np.int64), ())
    median = float(np.median(middle))
    ordinary = middle[middle < median + 4 * middle.std()]
    threshold = median + 7 * float(ordinary.std() if len(ordinary) else middle.std())
    peaks = find_peaks(middle, height=threshold, distance=max(1, m // 50))[0] + edge
    return Cut(order, values, threshold, peaks, _intervals(derivative, peaks, several, compat))


def _intervals(derivative: np.ndarray, peaks: np.ndarray, several: bool, compat: bool) -> tuple[Interval, ...]:
    n = len(derivative) + 1
    walls = [(int(peak), float(derivative[peak])) for peak in peaks]
    if len(peaks) == 1 or (several and 1 < len(peaks) <= 3):
        outer = 1.0 if compat else np.inf
        walls = [(0 if compat else -1, outer), *walls, (n if compat else n - 1, outer)]
    found = []
    for (left, left_height), (right, right_height) in pairwise(walls):
        start, stop = (left, right) if compat else (left + 1, right + 1)
        inside = derivative[start : stop if compat else stop - 1]
        # One image alone shows no flatness.
        quality = min(left_height, right_height) / max(float(inside.mean()), FLOOR) if len(inside) else 0.0
        found.append(Interval(start, stop, quality))
    return tuple(sorted(found, key=lambda interval: -interval.quality))


def _single(cut: Cut, rank: int, trim: float) -> Reduction:
    sizes = np.array([len(interval) for interval in cut.intervals])
    if rank >= len(sizes):
        raise CannotReduce(f"rank {rank} is not available: the active latent has {len(sizes)} interval(s)")
    chosen = cut.intervals[rank]
    off = int(trim * len(chosen))
    indices = np.sort(cut.order[chosen.start + off : chosen.stop - off])
    return Reduction(indices, (cut,), (chosen,), sizes, rank)


def _combined(cuts: tuple[Cut, ...], rank: int, top: int, prefer: str, smallest: int) -> Reduction:
    # Intervals of one latent do not overlap: an image has one place in each latent (or none), and images with the
    # same places are one intersection. No product of intervals has to be formed.
    places = np.stack([_places(cut, top) for cut in cuts], axis=1)  # [n, a], -1 outside the best intervals
    inside = np.flatnonzero((places >= 0).all(axis=1))
    combinations, member, counts = np.unique(places[inside], axis=0, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(counts >= smallest)
    if len(kept) == 0:
        raise CannotReduce(f"no combination of plateaus has {smallest} images in common: {len(places)} images")
    badness = -counts[kept] if prefer == "largest" else np.abs(counts[kept] - np.median(counts[kept]))
    ranking = kept[np.argsort(badness, kind="stable")]
    if rank >= len(ranking):
        raise CannotReduce(f"rank {rank} is not available: {len(ranking)} combination(s) of plateaus have images")
    best = ranking[rank]
    chosen = tuple(cut.intervals[place] for cut, place in zip(cuts, combinations[best], strict=True))
    return Reduction(inside[member.reshape(-1) == best], cuts, chosen, counts[ranking], rank)


def _places(cut: Cut, top: int) -> np.ndarray:
    """Which of the best intervals each image lies in, ``-1`` for none: ``[n]``."""
    sorted_places = np.full(len(cut.values), -1)
    for place, interval in enumerate(cut.intervals[:top]):
        sorted_places[interval.start : interval.stop] = place
    places = np.empty_like(sorted_places)
    places[cut.order] = sorted_places
    return places


def _check(values: ArrayLike, rank: int, top: int, prefer: str, trim: float) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] == 0:
        raise UsageError(f"values must be [n, a], one column per active latent, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise UsageError("values holds NaN or infinity; look for a diverged model")
    if rank < 0 or top < 1:
        raise UsageError(f"rank must be at least 0 and top at least 1, got {rank} and {top}")
    if not 0 <= trim < 0.5:
        raise UsageError(f"trim must lie in [0, 0.5), got {trim}")
    if prefer not in ("median", "largest"):
        raise UsageError(f"prefer must be 'median' or 'largest', got {prefer!r}")
    return array

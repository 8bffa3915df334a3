"""Invented objects moving as objects in natural video do, seen through three windows.

Stands in for the measurements Klindt et al. (2021) took from YouTube-VOS. Each object keeps its own pace: a step is the
object's scale times a Laplace variable, the scale log-normal across objects and partly shared by position and size.
Objects are upright boxes in a frame of 64 x 128 pixels; three windows of 64 x 64 cut them, so that an object growing
over an edge also shifts its centre. A few measurements in ten thousand slip, as those of hidden, cut or confused
objects do: the steps' tails are heavier than those of the law fitted to them. 4,150 objects give about 235,000 pairs.
"""

import numpy as np

from unbraid.data.motion.tracks import Tracks
from unbraid.errors import UsageError

__all__ = ["WINDOWS", "reflect", "slip", "steady_steps", "walk", "window_tracks"]

HEIGHT, WIDTH, WINDOW = 64.0, 128.0, 64.0
WINDOWS = (0.0, 32.0, 64.0)
"""Left edges."""
FRAMES = (17, 38)
"""Fewest and most frames of an object, 4.5 s at 6 frames per second in the mean."""

SPREAD = (0.8, 0.71, 0.64)
"""Log-deviation of the scale across objects, for x, y and log area: what sets the fitted shape of the steps."""
STEP = (1.5, 1.27, 0.026)
"""Median scale of the Laplace steps, in pixels, pixels and log area."""
SLIP, SLIPS = (12.0, 18.0, 1000.0), 0.0014
"""Scale of the error of a slipped measurement in x, y (pixels) and area, and the share of frames that have one."""
SHARED = 0.85
"""Correlation of an object's log-scales with their common part."""
AREA = (np.log(950.0), 1.0)
"""Mean and deviation of log area, before windows cut it."""
AREAS = (np.log(25.0), np.log(5200.0))


def steady_steps(
    counts: np.ndarray, step: np.ndarray, spread: np.ndarray, shared: float, rng: np.random.Generator
) -> np.ndarray:
    """Laplace steps ``[sum(counts), K]`` with one log-normal scale per object and coordinate.

    ``counts`` are the frames of each object, ``step`` the median scales ``[K]``, ``spread`` their log-deviations. The
    logarithms of an object's scales have the correlation ``shared ** 2``.
    """
    common = rng.standard_normal((len(counts), 1))
    own = rng.standard_normal((len(counts), len(spread)))
    scales = step * np.exp(spread * (shared * common + np.sqrt(1 - shared**2) * own))
    return np.repeat(scales, counts, axis=0) * rng.laplace(size=(counts.sum(), len(spread)))


def reflect(values: np.ndarray, low: np.ndarray | float, high: np.ndarray | float) -> np.ndarray:
    """Fold values into a range as if they bounced off its ends.

    >>> reflect(np.array([-1.0, 0.5, 2.5]), 0.0, 2.0)
    array([1. , 0.5, 1.5])
    """
    span = high - low
    return low + span - np.abs((values - low) % (2 * span) - span)


def walk(start: np.ndarray, steps: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Positions ``[frames, K]`` from a start per object and one step per frame; an object's first step is unused."""
    first = np.cumsum(counts) - counts
    path = np.cumsum(steps, axis=0)
    return np.repeat(start - path[first], counts, axis=0) + path


def slip(
    values: np.ndarray,
    scale: np.ndarray,
    share: float,
    low: np.ndarray,
    high: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Measurements ``[frames, K]`` of which a ``share`` of frames has a Laplace error, kept in range by reflection.

    The next frame is right again: an error makes two large steps. Few as they are, they carry the tails of the steps,
    and hardly touch the fitted shape.
    """
    chosen = np.flatnonzero(rng.random(len(values)) < share)
    found = values.copy()
    found[chosen] = reflect(values[chosen] + scale * rng.laplace(size=(len(chosen), len(scale))), low, high)
    return found


def window_tracks(objects: int = 4150, seed: int = 0) -> Tracks:
    """Tracks of x, y (pixels from the window's upper left corner) and area (whole pixels) in 64 x 64 windows."""
    if objects < 1:
        raise UsageError(f"objects must be at least 1, got {objects}")
    rng = np.random.default_rng(seed)
    counts = rng.integers(FRAMES[0], FRAMES[1] + 1, size=objects)
    start = rng.normal((WIDTH / 2, HEIGHT / 2, AREA[0]), (36.0, 9.0, AREA[1]), size=(objects, 3))
    steps = steady_steps(counts, np.array(STEP), np.array(SPREAD), SHARED, rng)
    low, high = np.array([0.0, 0.0, AREAS[0]]), np.array([WIDTH, HEIGHT, AREAS[1]])
    x, y, log_area = reflect(walk(reflect(start, low, high), steps, counts), low, high).T
    aspect = np.repeat(np.exp(rng.normal(0.0, 0.35, size=objects)), counts)
    across, down = np.exp(log_area / 2) * np.sqrt(aspect), np.exp(log_area / 2) / np.sqrt(aspect)
    ends = np.arange(len(x) - 1) + 1 == np.repeat(np.cumsum(counts), counts)[:-1]
    seen = [_through(x - left, y, across, down) for left in WINDOWS]
    present = np.stack([values[:, 2] > 0 for values in seen])
    links = present[:, 1:] & present[:, :-1] & ~ends
    # One window after the other; the last frame of one does not go on in the next.
    joined = np.pad(links, ((0, 0), (0, 1))).ravel()[:-1]
    least, most = np.array([0.0, 0.0, 1.0]), np.array([WINDOW, WINDOW, WINDOW**2])
    values = slip(np.concatenate(seen), np.array(SLIP), SLIPS, least, most, rng)
    values[:, 2] = np.rint(values[:, 2])
    return Tracks.linked(values, ("x", "y", "area"), joined)[0]


def _through(x: np.ndarray, y: np.ndarray, across: np.ndarray, down: np.ndarray) -> np.ndarray:
    """Centre and area of the part of each box inside the window ``[n, 3]``; the area of an unseen one is 0."""
    left, right = ((x + sign * across / 2).clip(0, WINDOW) for sign in (-1, 1))
    top, bottom = ((y + sign * down / 2).clip(0, WINDOW) for sign in (-1, 1))
    area = np.rint((right - left) * (bottom - top))
    return np.stack([(left + right) / 2, (top + bottom) / 2, area], axis=1)

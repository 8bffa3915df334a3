"""Invented people walking through street scenes, frame after frame, as seen through six windows.

Each keeps a pace of their own: a step in x, y or size is the walker's scale times a Laplace variable, the scale
log-normal across walkers. Without such lasting scales, steps over many frames would add up to a normal law, which real
tracks do not (Klindt et al., 2021, Fig. 14).
"""

from dataclasses import dataclass

import numpy as np

from unbraid.data.motion.window_tracks import reflect, slip, steady_steps, walk
from unbraid.data.render.silhouettes import Poses

__all__ = ["Scene", "walk_scenes"]

WIDTH, WINDOW = 212.0, 64.0
WINDOWS = np.rint(np.linspace(0, WIDTH - WINDOW, 6))
"""Left edges of the overlapping windows in a scene 64 pixels high."""
LENGTH = (np.log(32.0), 1.08)
"""Mean and deviation of the log number of frames, at most 710."""
LONGEST = 710
RATES = (14, 30)
"""Frames per second; a faster camera sees smaller steps."""

SPREAD = (0.56, 0.67, 0.85)
"""Log-deviation of the scales across walkers, for x, y and log height."""
STEP = (0.57, 0.315, 0.0058)
"""Median scales of the steps at 20 frames per second, in pixels, pixels and log height."""
SLIP, SLIPS = (8.5, 7.5, 0.0), 0.001
"""Scale of the error of a slipped outline in x, y (pixels) and log height, and the share of frames that have one."""
SHARED = 0.6
HEIGHT = (np.log(42.0), 0.35)
HEIGHTS = (np.log(16.0), np.log(95.0))


@dataclass(frozen=True)
class Scene:
    """All frames in which some of a walker may show in a window, window by window, walker by walker."""

    poses: Poses
    links: np.ndarray
    """bool ``[frames - 1]``: whether the next frame follows in the same window."""
    rate: np.ndarray
    """Frames per second ``[frames]``."""


def walk_scenes(walkers: int, seed: int = 0) -> Scene:
    """Let people walk and list what each window sees."""
    rng = np.random.default_rng(seed)
    counts = np.exp(rng.normal(*LENGTH, size=walkers)).astype(np.int64).clip(4, LONGEST)
    rate = rng.uniform(*RATES, size=walkers)
    start = np.stack(
        [
            rng.uniform(0, WIDTH, size=walkers),
            rng.normal(33.0, 5.0, size=walkers),
            rng.normal(*HEIGHT, size=walkers),
        ],
        axis=1,
    )
    steps = steady_steps(counts, np.array(STEP), np.array(SPREAD), SHARED, rng)
    pace = np.abs(steps[:, 0])
    steps *= np.repeat(20.0 / rate, counts)[:, None]
    low, high = np.array([-8.0, 16.0, HEIGHTS[0]]), np.array([WIDTH + 8, 52.0, HEIGHTS[1]])
    path = reflect(walk(reflect(start, low, high), steps, counts), low, high)
    x, y, log_height = slip(path, np.array(SLIP), SLIPS, low, high, np.random.default_rng((seed, 1))).T
    height = np.exp(log_height)
    # Whoever moves faster, relative to their size, strides wider and quicker.
    typical = np.repeat(np.add.reduceat(pace, np.cumsum(counts) - counts) / counts, counts)
    swing = 1 - np.exp(-25 * typical / height)
    turn = np.repeat(rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], size=walkers), counts)
    phase = walk(rng.uniform(0, 2 * np.pi, size=(walkers, 1)), (0.25 * swing)[:, None], counts)[:, 0]
    width = np.repeat(np.exp(rng.normal(0.1, 0.13, size=walkers)), counts)
    last = np.repeat(np.cumsum(counts) - 1, counts)

    window, frame = np.nonzero(np.abs(x - WINDOWS[:, None] - WINDOW / 2) < WINDOW / 2 + 0.35 * height)
    poses = Poses(x, y, height, phase, swing, turn, width)[frame]
    poses.x[:] -= WINDOWS[window]
    follows = (np.diff(frame) == 1) & (np.diff(window) == 0) & (frame[:-1] != last[frame[:-1]])
    return Scene(poses, follows, np.repeat(rate, counts)[frame])

"""Draws from a law under a condition: propose, keep what fulfils it, go on until there are enough."""

from collections.abc import Callable

import numpy as np

from unbraid.errors import UsageError

__all__ = ["accepted"]

LEAST = 1e-3
"""The smallest share of proposals that may pass."""
TRIAL = 20_000
"""Proposals after which the share is known well enough to give up."""


def accepted(propose: Callable[[int], np.ndarray], n: int, name: str) -> np.ndarray:
    """``n`` rows ``[n, length]`` of positions without -1, from proposals that mark with it what lies outside.

    Whole rows are kept or dropped, so that they follow the law of the proposals given that nothing lies outside.
    """
    kept: list[np.ndarray] = []
    count, tried, ask = 0, 0, n
    while count < n:
        rows = propose(ask)
        tried += ask
        kept.append(rows[(rows >= 0).all(axis=1)])
        count += len(kept[-1])
        if tried >= TRIAL and count < LEAST * tried:
            raise UsageError(
                f"of {tried:,} pairs or sequences {count} had all their images in {name!r}: too few to train on. "
                "Take a larger part, or one that keeps neighbours together"
            )
        missing = n - count
        ask = int(np.clip(1.2 * missing * tried / max(count, 1), 64, TRIAL))
    return np.concatenate(kept)[:n]

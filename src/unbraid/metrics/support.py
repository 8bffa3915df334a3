"""Whether the support of the codes factorises (Roth, Ibrahim, Akata, Vincent & Bouchacourt, 2023)."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unbraid.compiled import compiled
from unbraid.errors import UsageError, UsageWarning
from unbraid.metrics._registry import POSITIVE, register
from unbraid.metrics._score import Score, check_arrays, check_seed, generator

__all__ = ["support"]

FAR = 2.0
"""How much worse than the codes the factors must score before a warning is worth it."""


@register(
    "support",
    range=POSITIVE,
    title="Factorised support",
    short="Support",
    about="gaps in the codes where their values never meet",
    parts={
        "raw": "Factorised support, codes as they are",
        "factors": "Factorised support of the factors",
        "shuffled": "Factorised support of shuffled codes",
    },
    higher_is_better=False,
    measured=True,
    usual=False,
)
def support(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    batch: int = 64,
    batches: int = 50,
    min_spread: float = 0.05,
    seed: int = 0,
) -> Score:
    """Mean squared Hausdorff distance between the support of two codes and the product of their supports.

    For each pair of codes and each of ``batches`` draws of ``batch`` samples: ``max_{a, b} min_n (z_ai - z_ni)^2 +
    (z_bj - z_nj)^2``, how far the worst corner is from any sample, averaged over draws and pairs. 0 where every value
    of one code occurs with every value of the other. Codes are divided by their standard deviations, since the distance
    shrinks with their scale; the part ``raw`` has them as they are. Codes whose standard deviation is below
    ``min_spread`` of the largest are left out. It is the penalty ``hfs`` as a score; the published FoS has
    ``batch=128``.

    Few samples leave corners empty by chance: the part ``shuffled`` is the score of the same codes, each shuffled over
    the samples, and ``factors`` that of the factors themselves. Flaw: strongly correlated factors fill no square, and
    codes that mix them fill it better; where the factors score more than twice as badly as the codes a warning says so.

    >>> line = np.repeat(np.linspace(0, 1, 65)[:, None], 2, axis=1)
    >>> round(support(line, np.arange(65)[:, None] * [[1, 1]], batch=65, batches=1).parts["raw"], 3)
    0.5
    """
    codes, factors = check_arrays(codes, factors, measured=True)
    if batch < 2 or batches < 1:
        raise UsageError(f"batch must be at least 2 and batches at least 1, got {batch} and {batches}")
    rng = generator(seed)
    size = min(batch, len(codes))
    drawn = np.stack([rng.choice(len(codes), size, replace=False) for _ in range(batches)])  # [batches, size]
    spread = codes.std(axis=0)
    active = (spread > 0) & (spread >= min_spread * spread.max())
    if active.sum() < 2:
        raise UsageError(
            f"support compares pairs of codes, and {active.sum()} of the {len(active)} codes moves: constant codes "
            "have no support to speak of"
        )
    alive = codes[:, active]
    gaps = _gaps(alive / spread[active], drawn)
    truth = _mean(_gaps(factors / factors.std(axis=0), drawn))
    value = _mean(gaps)
    if value and truth > FAR * value:
        warnings.warn(
            f"support: the factors themselves score {truth:.3g}, the codes {value:.3g}: factors this dependent leave "
            "corners empty, and codes that mix them look better than the truth",
            UsageWarning,
            stacklevel=2,
        )
    parts: dict[str, Any] = {
        "raw": _mean(_gaps(alive, drawn)),
        "factors": truth,
        "shuffled": _mean(_gaps(rng.permuted(alive, axis=0) / spread[active], drawn)),
        "per_pair": gaps,
        "active": active,
    }
    told = {"batch": size, "batches": batches, "min_spread": min_spread, "samples": len(codes)}
    return Score("support", value, parts=parts, settings={**told, "seed": check_seed(seed)})


def _mean(gaps: np.ndarray) -> float:
    """Over pairs; 0 for a single code."""
    pairs = gaps[np.triu_indices(len(gaps), 1)]
    return float(pairs.mean()) if len(pairs) else 0.0


def _gaps(codes: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """For each pair of codes, the mean over draws ``[batches, n]`` of the distance: symmetric ``[d, d]``."""
    found = np.zeros((codes.shape[1], codes.shape[1]))
    for rows in drawn:
        _add_gaps(np.ascontiguousarray(codes[rows].T), found)
    return (found + found.T) / len(drawn)


def _worst_corners(columns: np.ndarray, found: np.ndarray) -> None:
    """Add to ``found`` ``[d, d]``, above its diagonal, how far the worst corner of each pair of columns is from a row.

    A corner is given up as soon as a row is nearer than the worst corner's: nearly all of them after a few rows.
    """
    d, n = columns.shape
    for i in range(d):
        for j in range(i + 1, d):
            worst = 0.0
            for a in range(n):
                for b in range(n):
                    nearest = np.inf
                    for row in range(n):
                        across = columns[i, a] - columns[i, row]
                        along = columns[j, b] - columns[j, row]
                        nearest = min(nearest, across * across + along * along)
                        if nearest <= worst:
                            break
                    worst = max(worst, nearest)
            found[i, j] += worst


_add_gaps = compiled(_worst_corners)

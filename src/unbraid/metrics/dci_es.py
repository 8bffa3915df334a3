"""Explicitness and size, the E and S of DCI-ES (Eastwood et al., 2023)."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError
from unbraid.metrics._kinds import perfect_code, standardize, targets
from unbraid.metrics._registry import register
from unbraid.metrics._score import Sample, Score, check_arrays, check_kinds, check_seed, generator, split

__all__ = ["dci_es"]


@register(
    "dci_es",
    range=(-1.0, 1.0),
    title="DCI-ES explicitness",
    short="DCI-ES",
    about="how small a probe reads the factors",
)
def dci_es(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    test: tuple[ArrayLike, ArrayLike] | None = None,
    features: Sequence[int] = (16, 32, 64, 128, 256, 512),
    ridge: float = 1e-4,
    kinds: Sequence[str] | None = None,
    seed: int = 0,
) -> Score:
    """How little capacity a probe needs to read the factors off the codes (E, the value), and how compact they are (S).

    For each factor the test loss of probes of growing capacity is drawn against capacity; E is one minus the area
    between that curve and its lowest loss, in units of the triangle under a straight fall from the loss of a constant
    guess: 1 if the smallest probe is already best, 0 for a straight fall, -1 if only the largest probe learns anything.
    S (``parts["size"]``) is the number of factors over the number of codes.

    The probes are ridge regressions on the codes and, from the second on, that many random Fourier features of them
    (unit Gaussian kernel on standardised codes, length scale the root of their number); one more probe is one more
    unit of capacity, so doubling the features is one step. ``ridge`` is per sample. The loss is the mean squared error
    over the variance, on columns that respect ``kinds``. A factor of which no probe explains one
    percent scores 0.

    Flaw: E depends on the family of probes and on how capacity is counted; compare only scores with equal settings.
    """
    sizes = tuple(int(m) for m in features)
    if not sizes or sizes[0] < 1 or any(b <= a for a, b in pairwise(sizes)):
        raise UsageError(f"features must be growing positive numbers, got {tuple(features)}")
    known = check_kinds(kinds, check_arrays(codes, factors)[1])
    train, held_out = split(codes, factors, test=test, seed=seed)
    curves = _curves(train, held_out, known, sizes, ridge, seed)
    ideal = perfect_code(np.concatenate([train[1], held_out[1]]), known)
    n = len(train[0])
    best = _curves((ideal[:n], train[1]), (ideal[n:], held_out[1]), known, sizes, ridge, seed)
    per_factor = np.array([explicitness_of(curve) for curve in curves])
    return Score(
        "dci_es",
        float(per_factor.mean()),
        float(np.mean([explicitness_of(curve) for curve in best])),
        {"per_factor": per_factor, "size": factors_per_code(train), "loss_curves": curves},
        {
            "estimator": "ridge regression on random Fourier features",
            "features": list(sizes),
            "ridge": ridge,
            "kinds": list(known) if kinds is not None else None,
            "train": n,
            "test": len(held_out[0]),
            "seed": check_seed(seed),
        },
    )


def factors_per_code(sample: Sample) -> float:
    """The size score: number of factors over number of codes, 1 when there is a code for each factor."""
    return sample[1].shape[1] / sample[0].shape[1]


def explicitness_of(curve: np.ndarray, baseline: float = 1.0) -> float:
    """Explicitness of a loss curve over equally spaced capacities, against the loss of a constant guess.

    >>> explicitness_of(np.array([0.0, 0.0, 0.0])), explicitness_of(np.array([1.0, 0.5, 0.0]))
    (1.0, 0.0)
    """
    lowest = float(curve.min())
    if lowest > 0.99 * baseline:  # what little was learnt is chance, and so would be its curve
        return 0.0
    excess = np.minimum(curve, baseline)[: int(curve.argmin()) + 1] - lowest
    area = float((excess[1:] + excess[:-1]).sum() / 2)
    return 1 - area / (0.5 * (len(curve) - 1) * (baseline - lowest))


def _curves(
    train: Sample, test: Sample, kinds: Sequence[str], sizes: tuple[int, ...], ridge: float, seed: int
) -> np.ndarray:
    """Relative test loss of each factor under each probe: ``[K, 1 + len(sizes)]``."""
    codes, queries = standardize(train[0]), standardize(test[0], like=train[0])
    d = codes.shape[1]
    rng = generator(seed)
    frequencies = rng.standard_normal((d, sizes[-1])) / np.sqrt(d)
    phases = rng.uniform(0, 2 * np.pi, sizes[-1])

    def expand(points: np.ndarray) -> np.ndarray:
        waves = np.sqrt(2) * np.cos(points @ frequencies + phases)
        return np.hstack([np.ones((len(points), 1)), points, waves])

    inputs, asked = expand(codes), expand(queries)
    gram = inputs.T @ inputs
    curves = np.empty((len(kinds), 1 + len(sizes)))
    for k, kind in enumerate(kinds):
        values = np.unique(np.concatenate([train[1][:, k], test[1][:, k]]))
        wanted, truth = (targets(part[1][:, k], kind, values) for part in (train, test))
        total = ((truth - wanted.mean(axis=0)) ** 2).sum()
        moment = inputs.T @ (wanted - wanted.mean(axis=0))
        for row, size in enumerate((0, *sizes)):
            m = 1 + d + size  # probes are nested: a smaller one is a corner of the same normal equations
            weights = np.linalg.solve(gram[:m, :m] + ridge * len(inputs) * np.eye(m), moment[:m])
            missed = ((truth - wanted.mean(axis=0) - asked[:, :m] @ weights) ** 2).sum()
            curves[k, row] = missed / total if total > 0 else 1.0
    return curves

"""Sources seen through a random network, as vectors: what nonlinear independent component analysis takes apart."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from unbraid.data.dataset import Card
from unbraid.data.registry import register
from unbraid.data.vectors import Vectors, from_vectors
from unbraid.errors import UsageError, unknown_name

__all__ = ["mixed_pairs", "mixed_segments", "random_mixing"]

Law = Literal["laplace", "normal"]
DRAWS, SLOPE = 25_000, 0.2
"""Matrices of which a layer takes the best conditioned, and what is left of numbers below zero."""
WIDEST = 10
"""Scale of pairs in a cube of side 1: beyond it hardly a step stays inside, and the law is flat there anyway."""
_TRAPS = ("Float vectors, not images: only fully connected networks take them, with a gaussian likelihood.",)


def random_mixing(sources: np.ndarray, layers: int, seed: int) -> np.ndarray:
    """Sources ``[n, d]`` through so many square layers with leaky ReLUs between them, which lose nothing.

    Each layer is the best conditioned of 25,000 matrices with uniform entries and columns of length 1.
    """
    rng, mixed = np.random.default_rng((seed, layers)), np.asarray(sources, dtype=np.float64)
    size = mixed.shape[1]
    for layer in range(layers):
        candidates = rng.uniform(-1, 1, (DRAWS, size, size))
        candidates /= np.linalg.norm(candidates, axis=1, keepdims=True)
        mixed = mixed @ candidates[np.linalg.cond(candidates).argmin()]
        if layer < layers - 1:
            mixed = np.where(mixed > 0, mixed, SLOPE * mixed)
    return mixed


@register(
    "mixed-pairs",
    card=Card(
        "Mixed pairs",
        "Computed here.",
        "MIT",
        "Zimmermann et al., Contrastive Learning Inverts the Data Generating Process, ICML 2021",
        (*_TRAPS, "seed makes another mixing; draw=1 gives fresh points of the same, to test on."),
    ),
    images=400_000,
    size="4",
)
def mixed_pairs(
    sources: int = 4,
    law: Law = "laplace",
    scale: float = 0.05,
    layers: int = 3,
    pairs: int = 200_000,
    seed: int = 0,
    draw: int = 0,
) -> Vectors:
    """Uniform sources in a unit cube and, for each point, a second one near it; both through the same random network.

    The second is drawn by ``law`` around the first, with ``scale`` in each source, and kept inside the cube: density
    proportional to exp(-|z' - z| / scale) for laplace, exp(-(z' - z)^2 / (2 scale^2)) for normal.
    """
    _check(seed, draw, sources=sources, layers=layers, pairs=pairs)
    if law not in get_args(Law):
        raise unknown_name("law", law, get_args(Law))
    if not 0 < scale <= WIDEST:
        raise UsageError(f"scale must lie above 0 and be at most {WIDEST}, got {scale}")
    rng = np.random.default_rng((seed, draw, 1))
    first = rng.random((pairs, sources))
    second = np.full_like(first, -1.0)
    while (outside := (second < 0) | (second > 1)).any():
        steps = rng.laplace(0, scale, outside.sum()) if law == "laplace" else rng.normal(0, scale, outside.sum())
        second[outside] = first[outside] + steps
    both = np.stack([first, second], axis=1).reshape(2 * pairs, sources)  # neighbours lie together
    names = [f"source{k}" for k in range(sources)]
    moves = np.arange(2 * pairs).reshape(pairs, 2)
    return from_vectors(random_mixing(both, layers, seed), both, names=names, pairs=moves, name="mixed-pairs")


@register(
    "mixed-segments",
    card=Card(
        "Mixed segments",
        "Computed here.",
        "MIT",
        "After Hyvärinen & Morioka, NeurIPS 2016, and Khemakhem et al., Variational Autoencoders and Nonlinear ICA, "
        "AISTATS 2020",
        (*_TRAPS, "seed makes other scales and another mixing; draw=1 gives fresh points of the same, to test on."),
    ),
    images=40_000,
    size="5",
)
def mixed_segments(
    sources: int = 5, segments: int = 40, points: int = 1000, layers: int = 3, seed: int = 0, draw: int = 0
) -> Vectors:
    """Normal sources whose standard deviations (0.5 to 3) change from segment to segment, through a random network.

    The segment of a point is its class: the side information without which the sources could not be found.
    """
    _check(seed, draw, sources=sources, segments=segments, points=points, layers=layers)
    scales = np.random.default_rng((seed, 2)).uniform(0.5, 3.0, (segments, sources))
    labels = np.repeat(np.arange(segments), points)
    values = scales[labels] * np.random.default_rng((seed, draw, 3)).standard_normal((len(labels), sources))
    names = [f"source{k}" for k in range(sources)]
    return from_vectors(random_mixing(values, layers, seed), values, labels, names=names, name="mixed-segments")


def _check(seed: int, draw: int, **counts: int) -> None:
    for name, value in (("seed", seed), ("draw", draw)):
        if value < 0:
            raise UsageError(f"{name} must be at least 0, got {value}")
    for name, value in counts.items():
        if value < 1:
            raise UsageError(f"{name} must be at least 1, got {value}")

"""Two redundant coordinates tell the class: the smallest data on which cross-entropy ignores half of what matters."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from unbraid.data import Vectors, from_vectors
from unbraid.errors import UsageError

__all__ = ["REDUNDANT", "redundant_gaussians", "redundant_oracle"]

REDUNDANT = (0, 3)
"""The two coordinates that tell the class."""

SIZE = 6


def redundant_gaussians(n: int, *, seed: int = 0) -> Vectors:
    """x ~ N(0, I_6), x_0 and x_3 moved by +2 or -2 with the class, a fair coin.

    The best accuracy there is is Phi(2 sqrt 2) = 0.9977. Either coordinate alone is right in Phi(2) = 0.977.

    >>> redundant_gaussians(4).shape
    (6,)
    """
    if n < 1:
        raise UsageError(f"n must be at least 1, got {n}")
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=n)
    x = rng.standard_normal((n, SIZE))
    x[:, REDUNDANT] += 2.0 * (2 * labels[:, None] - 1)
    return from_vectors(x, labels=labels, name="redundant-gaussians", classes=("minus", "plus"))


def redundant_oracle(x: Tensor) -> Tensor:
    """The best decision: 1 where x_0 + x_3 > 0."""
    return (x[:, REDUNDANT[0]] + x[:, REDUNDANT[1]] > 0).to(torch.long)

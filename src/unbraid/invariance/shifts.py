"""Shifts of data for theorem 8: metameric, re-weighted, noisy. Each gives inputs and their true classes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.invariance.definitions import Function, classes_of
from unbraid.invariance.metameric import metamers
from unbraid.invariance.spheres import shift_last_coordinate

__all__ = ["last_coordinate_shift", "metameric_shift", "noise_shift", "reweighting_shift"]


def metameric_shift(
    net: Any, x: Tensor, oracle: Function, *, seed: int = 0, classes: int | None = None
) -> tuple[Tensor, Tensor]:
    """Nuisance outputs shuffled across the data, labelled by the oracle."""
    found = metamers(net, x, seed=seed, classes=classes).x
    return found, classes_of(oracle, found)


def last_coordinate_shift(x: Tensor, oracle: Function, radius: float) -> tuple[Tensor, Tensor]:
    """Inner points of spheres moved to the outer one through their last coordinate, labelled by the oracle."""
    moved = torch.where((classes_of(oracle, x) == 0)[:, None], shift_last_coordinate(x, radius).to(x.dtype), x)
    return moved, classes_of(oracle, moved)


def reweighting_shift(x: Tensor, labels: Tensor, weights: Tensor, *, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Samples drawn again with these weights, as many as before: what one nuisance favours."""
    if weights.shape != (len(x),) or bool((weights < 0).any()) or not float(weights.sum()) > 0:
        raise UsageError(f"weights must be {len(x)} numbers that are not negative, one per sample, not all zero")
    rows = torch.multinomial(weights.double(), len(x), replacement=True, generator=torch.Generator().manual_seed(seed))
    return x[rows], labels[rows]


def noise_shift(x: Tensor, labels: Tensor, sigma: float, *, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Normal noise added to inputs, classes as they were."""
    if not sigma >= 0:
        raise UsageError(f"sigma must not be negative, got {sigma}")
    noise = torch.randn(x.shape, generator=torch.Generator().manual_seed(seed), dtype=x.dtype)
    return x + sigma * noise, labels

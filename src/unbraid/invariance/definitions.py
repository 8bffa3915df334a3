"""Excessive invariance in definitions that can be asked of points (Jacobsen et al., 2019, section 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unbraid.errors import UsageError

__all__ = [
    "classes_of",
    "in_preimage",
    "is_invariance_adversarial",
    "is_perturbation_adversarial",
    "perturbation_kind",
    "preimage_gap",
]

Function = Callable[[Tensor], Any]
TOLERANCE = 1e-4


def preimage_gap(function: Function, x: Any, other: Any) -> Tensor:
    """Largest absolute difference between what a function makes of x and of another input, for each: ``[n]``.

    The function may be the first layers of a network, its logits, or its decisions: pre-images of later ones contain
    those of earlier ones.
    """
    x, other = _pair(x, other)
    first, second = (torch.as_tensor(function(points)).double() for points in (x, other))
    if first.shape != second.shape or len(first) != len(x):
        raise UsageError(f"the function must give one row per input, got {list(first.shape)} and {list(second.shape)}")
    return (first - second).abs().flatten(1).amax(1) if first.ndim > 1 else (first - second).abs()


def in_preimage(function: Function, x: Any, other: Any, *, tolerance: float = TOLERANCE) -> Tensor:
    """Whether the function is invariant to the step from x to the other input: bool ``[n]``."""
    return preimage_gap(function, x, other) <= tolerance


def is_perturbation_adversarial(
    classify: Function, oracle: Function, x: Any, other: Any, *, radius: float | None = None
) -> Tensor:
    """Whether the classifier is wrong about the other input, D(x*) != o(x*), within an L2 ``radius`` of x if given."""
    x, other = _pair(x, other)
    wrong = classes_of(classify, other) != classes_of(oracle, other)
    return wrong if radius is None else wrong & ((x - other).flatten(1).norm(dim=1) < radius)


def is_invariance_adversarial(
    function: Function, oracle: Function, x: Any, other: Any, *, tolerance: float = TOLERANCE
) -> Tensor:
    """Whether another input has the same layer, logits or decision and yet another true class.

    x* != x, G(x*) = G(x) up to the tolerance, and o(x*) != o(x).
    """
    x, other = _pair(x, other)
    moved = (x != other).flatten(1).any(1)
    changed = classes_of(oracle, x) != classes_of(oracle, other)
    return moved & changed & in_preimage(function, x, other, tolerance=tolerance)


def perturbation_kind(oracle: Function, x: Any, other: Any) -> list[str]:
    """``semantic`` where the step to the other input changes the true class, ``nuisance`` where it does not."""
    x, other = _pair(x, other)
    changed = classes_of(oracle, x) != classes_of(oracle, other)
    return ["semantic" if each else "nuisance" for each in changed.tolist()]


def classes_of(decide: Function, x: Tensor) -> Tensor:
    """Classes ``[n]`` by a function that gives classes, or scores ``[n, C]`` of which the highest counts."""
    with torch.no_grad():
        found = torch.as_tensor(decide(x))
    if found.ndim == 2:
        return found.argmax(1)
    if found.ndim != 1 or len(found) != len(x):
        raise UsageError(
            f"a classifier must give classes [n] or scores [n, C] of {len(x)} inputs, got {list(found.shape)}"
        )
    return found.long()


def _pair(x: Any, other: Any) -> tuple[Tensor, Tensor]:
    first, second = (
        points if isinstance(points, Tensor) else torch.as_tensor(np.asarray(points)) for points in (x, other)
    )
    if first.shape != second.shape or first.ndim < 2:
        raise UsageError(f"both inputs must be [n, ...] of one shape, got {list(first.shape)} and {list(second.shape)}")
    return first, second

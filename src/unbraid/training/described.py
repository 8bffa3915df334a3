"""What a run folder says of its data."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from unbraid.data import Dataset, counter_rng
from unbraid.objectives import Problem

__all__ = ["describe_data", "problem_of"]


def problem_of(dataset: Dataset) -> Problem:
    """What an objective may know of a data set."""
    return Problem(
        dataset.shape,
        len(dataset),
        len(dataset.classes) or None,
        dataset.factor_sizes or None,
        dataset.factor_names,
        _measured_ranges(dataset),
    )


def _measured_ranges(dataset: Dataset) -> tuple[tuple[float, float], ...] | None:
    """Smallest and largest value of each factor, where they were measured."""
    if not dataset.has_factors or dataset.factor_sizes is not None:
        return None
    factors = dataset.factors(np.arange(len(dataset)))
    return tuple((float(low), float(high)) for low, high in zip(factors.min(0), factors.max(0), strict=True))


def describe_data(dataset: Dataset) -> dict[str, Any]:
    """The record of a data set in a run folder, with a fingerprint of 64 of its images."""
    problem = problem_of(dataset)
    index = np.linspace(0, len(dataset) - 1, num=min(64, len(dataset))).astype(np.int64)
    pixels = dataset.images(index, counter_rng(0, 0))
    return {
        "recipe": {"name": dataset.recipe.name, "options": dataset.recipe.options} if dataset.recipe else None,
        "name": dataset.name,
        "shape": list(problem.shape),
        "images": problem.images,
        "classes": problem.classes,
        "factor_sizes": list(problem.factor_sizes) if problem.factor_sizes else None,
        "factor_names": list(problem.factor_names),
        "factor_ranges": [list(ends) for ends in problem.factor_ranges] if problem.factor_ranges else None,
        "fingerprint": hashlib.sha256(np.ascontiguousarray(pixels).tobytes()).hexdigest()[:16],
    }

"""What a run folder says of its data."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data import Dataset, Side, counter_rng, grid_hash
from unbraid.errors import UsageError, UsageWarning
from unbraid.objectives import Problem

__all__ = ["check_split", "describe_data", "differences", "problem_of"]


def problem_of(dataset: Dataset) -> Problem:
    """What an objective may know of a data set."""
    return Problem(
        dataset.shape,
        len(dataset),
        len(dataset.classes) or None,
        dataset.factor_sizes or None,
        dataset.factor_names,
        _measured_ranges(dataset),
        dataset.factor_kinds,
    )


def _measured_ranges(dataset: Dataset) -> tuple[tuple[float, float], ...] | None:
    """Smallest and largest value of each factor, where they were measured."""
    if not dataset.has_factors or dataset.factor_sizes is not None:
        return None
    known: tuple[tuple[float, float], ...] | None = getattr(dataset, "factor_ranges", None)
    if known is not None:  # of a set so large that reading all of it would take gigabytes
        return known
    factors = dataset.factors(np.arange(len(dataset)))
    return tuple((float(low), float(high)) for low, high in zip(factors.min(0), factors.max(0), strict=True))


def describe_data(dataset: Dataset) -> dict[str, Any]:
    """The record of a data set in a run folder, with fingerprints.

    ``fingerprint`` is that of 64 images, ``truth`` that of factors and labels, and ``positions`` says which images of
    the whole a part holds, ``None`` for a whole; ``split`` is the side of the split that it is, if of any.
    """
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
        "factor_kinds": list(problem.factor_kinds),
        "fingerprint": hashlib.sha256(np.ascontiguousarray(pixels).tobytes()).hexdigest()[:16],
        "truth": _fingerprint_truth(dataset),
        "positions": _fingerprint_positions(dataset),
        "split": None if dataset.side is None else dataset.side.to_json(),
    }


def check_split(trained: dict[str, Any], dataset: Dataset, path: Path) -> None:
    """Refuse a side of another split of the grid on one of which a run was trained: it may have seen these images.

    A run that was trained on such images without a split may be looked at on any side; on one that others are not
    trained on there is a warning, since it is no test for this run.
    """
    seen, side = trained.get("split"), dataset.side
    if side is None:
        return
    if seen is None:
        if side.side != "train" and _of_the_same(trained, dataset, side):
            warnings.warn(
                f"{path} was trained without a split, so that it may have been trained on images of {dataset.name!r}, "
                f"the {side.side} side of {side.kind}: what it makes of them is no test. For one, train on the "
                f"training side (on the command line: --data NAME:split={side.kind})",
                UsageWarning,
                stacklevel=3,
            )
        return
    if side.grid != seen["grid"] or side.hash == seen["hash"]:
        return
    first, second = (kind if seed is None else f"{kind} (seed {seed})" for kind, seed in _named(seen, side))
    raise UsageError(
        f"{path} was trained on the split {first} ({seen['hash']}), and {dataset.name!r} belongs to the split {second} "
        f"({side.hash}): images of its test side may have been trained on. Take the test side of the same split (on "
        f"the command line: --data NAME:split={seen['kind']},side=test), or the whole data set"
    )


def _of_the_same(trained: dict[str, Any], dataset: Dataset, side: Side) -> bool:
    """Whether images of a side may be among those of a record: by the name of both, or by the grid of their factors."""
    recipe, now = trained["recipe"], dataset.recipe
    if recipe is not None and now is not None and recipe["name"] == now.name:
        return True
    grid = {"names": list(trained["factor_names"]), "sizes": list(trained["factor_sizes"] or ())}
    return side.grid == grid_hash(grid)


def _named(seen: dict[str, Any], side: Side) -> list[tuple[str, int | None]]:
    return [(seen["kind"], seen["seed"]), (side.kind, side.seed)]


def differences(stored: dict[str, Any], dataset: Dataset) -> str:
    """What of a data set is not as a record has it, in words: its images, or its factors or labels; empty if none is.

    Of what an earlier version did not write down nothing is known.
    """
    now = describe_data(dataset)
    words = {"fingerprint": "images", "positions": "images", "truth": "factors or labels"}
    return next((what for key, what in words.items() if key in stored and stored[key] != now[key]), "")


def _fingerprint_truth(dataset: Dataset) -> str:
    digest, index = hashlib.sha256(), _looked_at(dataset)
    for name, known, values in (
        ("factors", dataset.has_factors, dataset.factors),
        ("labels", dataset.has_labels, dataset.labels),
    ):
        if known:
            array = np.ascontiguousarray(values(index))
            digest.update(f"{name} {array.dtype} {array.shape}".encode())
            digest.update(array.tobytes())
    return digest.hexdigest()[:16]


def _fingerprint_positions(dataset: Dataset) -> str | None:
    index = _looked_at(dataset)
    found = dataset.origin(index)
    return None if np.array_equal(found, index) else hashlib.sha256(found.tobytes()).hexdigest()[:16]


def _looked_at(dataset: Dataset) -> np.ndarray:
    """All positions, or evenly spread ones where there are very many."""
    count = len(dataset)
    return np.arange(count) if count <= 100_000 else np.linspace(0, count - 1, 10_000).astype(np.int64)

"""Scores on data whose factors were measured: continuous, on no grid, so that only their order can be compared."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from unbraid.errors import UsageError
from unbraid.metrics._encode import MeasuredData, Representation, encode_index, encoder_of
from unbraid.metrics._registry import Metric
from unbraid.metrics._score import Score, generator

__all__ = ["applies_to_measured", "evaluate_measured", "has_measured_factors"]


def has_measured_factors(data: Any) -> TypeGuard[MeasuredData]:
    """Whether a data set tells factors by index but has no grid of them."""
    return getattr(data, "space", None) is None and hasattr(data, "factor_names") and hasattr(data, "factors")


def applies_to_measured(entry: Metric) -> bool:
    """Whether a score makes sense of continuous factors."""
    return entry.by_rank or entry.needs == "codes"


def evaluate_measured(
    run_or_encode: Any,
    data: MeasuredData,
    chosen: Sequence[Metric],
    *,
    representation: Representation,
    images: int,
    options: Mapping[str, Mapping[str, Any]],
    seed: int,
    batch_size: int,
    progress: Callable[[str], None] | None,
) -> dict[str, Score]:
    """The chosen scores on images drawn from a data set with measured factors, each given by its rank."""
    for entry in chosen:
        if not applies_to_measured(entry):
            raise UsageError(
                f"{entry.name} needs factors on a grid, and those of this data set were measured; "
                "scores by rank apply, such as mcc"
            )
    if images < 2:
        raise UsageError(f"train must be at least 2, got {images}")
    index = data.sample_index(images, generator(seed))
    factors = np.stack([np.unique(column, return_inverse=True)[1].reshape(-1) for column in data.factors(index).T], 1)
    began = time.perf_counter()
    codes = encode_index(
        encoder_of(run_or_encode, representation, (seed, 0)),
        data,
        index,
        every_draw=representation == "sampled",
        seed=seed,
        batch_size=batch_size,
        progress=progress,
    )[:]
    about = {"representation": representation, "encoding_seconds": time.perf_counter() - began}
    scores = {}
    for entry in chosen:
        if progress is not None:
            progress(entry.name)
        began = time.perf_counter()
        inputs = (codes,) if entry.needs == "codes" else (codes, factors)
        score = entry.function(*inputs, seed=seed, **options.get(entry.name, {}))
        scores[entry.name] = score.with_settings(seconds=time.perf_counter() - began, **about)
    return scores

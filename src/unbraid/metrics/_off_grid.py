"""Scores on data without a grid of factors: they were measured, so that only their order counts, or there are none."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from typing import Any, Protocol, TypeGuard

import numpy as np

from unbraid.errors import UsageError
from unbraid.metrics._encode import MeasuredData, Representation, encode_index, encoder_of, is_stochastic
from unbraid.metrics._registry import Metric, choose
from unbraid.metrics._score import Score, generator

__all__ = [
    "PlainData",
    "allowed_metrics",
    "applicable",
    "evaluate_off_grid",
    "has_measured_factors",
    "has_no_factors",
    "without_factors",
]


class PlainData(Protocol):
    """Images to draw from, as :class:`unbraid.data.ImageDataset` offers them."""

    def images(self, index: Any, rng: np.random.Generator | None = None) -> np.ndarray: ...
    def sample_index(self, n: int, rng: np.random.Generator) -> np.ndarray: ...


def has_measured_factors(data: Any) -> TypeGuard[MeasuredData]:
    """Whether a data set tells factors by index but has no grid of them."""
    return getattr(data, "space", None) is None and bool(getattr(data, "factor_names", ()))


def has_no_factors(data: Any) -> TypeGuard[PlainData]:
    """Whether a data set offers images and nothing to score against: it knows no factors, or all of them are fixed."""
    space = getattr(data, "space", None)
    if space is not None:
        return not space.names
    return hasattr(data, "sample_index") and not has_measured_factors(data)


def applicable(
    chosen: Sequence[Metric], data: MeasuredData | PlainData, representation: Representation, *, by_name: bool
) -> list[Metric]:
    """Those of the chosen scores that make sense on the data; others that were asked for by name are refused."""
    if has_measured_factors(data):
        refused = [entry for entry in chosen if not (entry.by_rank or entry.needs == "codes")]
        if refused and by_name:
            raise UsageError(
                f"{refused[0].name} needs factors on a grid, and those of this data set were measured; "
                "scores by rank apply, such as mcc"
            )
        return [entry for entry in chosen if entry not in refused]
    fitting = without_factors(chosen, by_name=by_name)
    if isinstance(data, Sized) and len(data) == 1 and representation == "mean" and not is_stochastic(data):
        if by_name:
            raise UsageError("the data set shows a single image; a score of codes needs at least two different ones")
        return []
    return fitting


def allowed_metrics(names: Iterable[str], data: Any, representation: Representation = "mean") -> list[str]:
    """Those of these scores that make sense on a data set: all on a grid of factors, fewer where there is none."""
    chosen = choose(names, ())
    if has_measured_factors(data) or has_no_factors(data):
        chosen = applicable(chosen, data, representation, by_name=False)
    return [entry.name for entry in chosen]


def without_factors(chosen: Sequence[Metric], *, by_name: bool) -> list[Metric]:
    """Those of the chosen scores that look at codes alone; others that were asked for by name are refused."""
    refused = [entry.name for entry in chosen if entry.needs != "codes"]
    if refused and by_name:
        alone = ", ".join(entry.name for entry in choose("all", ("codes",)))
        raise UsageError(
            f"there are no factors to score against, which {', '.join(refused)} cannot do without; "
            f"scores of the codes alone: {alone}"
        )
    return [entry for entry in chosen if entry.needs == "codes"]


def evaluate_off_grid(
    run_or_encode: Any,
    data: MeasuredData | PlainData,
    chosen: Sequence[Metric],
    *,
    representation: Representation,
    images: int,
    options: Mapping[str, Mapping[str, Any]],
    seed: int,
    batch_size: int,
    progress: Callable[[str], None] | None,
) -> dict[str, Score]:
    """The chosen scores on images drawn from a data set; measured factors are given by their ranks."""
    if not chosen:
        return {}
    if images < 2:
        raise UsageError(f"train must be at least 2, got {images}")
    index = data.sample_index(images, generator(seed))
    factors = _ranks(data.factors(index)) if has_measured_factors(data) else None
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
        score = entry.score(codes, factors, seed=seed, options=options.get(entry.name))
        scores[entry.name] = score.with_settings(seconds=time.perf_counter() - began, **about)
    return scores


def _ranks(values: np.ndarray) -> np.ndarray:
    """Each column's values by their place among the distinct ones."""
    return np.stack([np.unique(column, return_inverse=True)[1].reshape(-1) for column in values.T], 1)

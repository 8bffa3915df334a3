"""How much of each factor's variance a model predicts, as a measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unbraid.errors import UsageError
from unbraid.evaluation.base import Measure, Row, register
from unbraid.evaluation.predictions import predict_factors, scaled_factors
from unbraid.metrics import Score

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.training import Run

__all__ = ["R2", "factor_variances"]


@register("r2")
@dataclass(frozen=True)
class R2(Measure):
    """1 - squared error / variance of each factor, and their mean (Schott et al., 2022).

    The variance is that of the whole grid, also where only a part of it is looked at; of measured factors that of the
    data looked at. Guessing the middle scores about 0, and nothing keeps a bad model above 0.
    """

    title = "R²"
    titles: ClassVar[Mapping[str, str]] = {"mean_squared_error": "mean squared error"}
    needs = "a model that predicts factors, and data with these factors"
    images: int = 10_000
    """At most so many images, drawn without repetition; all of smaller data sets."""

    def __post_init__(self) -> None:
        if self.images < 1:
            raise UsageError(f"images must be at least 1, got {self.images}")

    def applies(self, run: Run, data: ImageDataset) -> bool:
        predicts = getattr(getattr(run, "objective", None), "predicts", "")
        return run.can("predict") and predicts == "factors" and data.factor_names == run.problem.factor_names

    def rows(self, run: Run, data: ImageDataset, seed: int) -> Iterator[Row]:
        found = predict_factors(run, data, images=self.images, seed=seed)
        errors, variances = found.squared_error.mean(axis=0), factor_variances(run, data)
        explained = 1 - np.divide(errors, variances, out=np.full(len(errors), np.nan), where=variances > 0)
        score = Score(
            "r2",
            float(np.nanmean(explained)) if np.isfinite(explained).any() else float("nan"),
            1.0,
            {"per_factor": explained, "squared_error": errors},
            {"images": len(found.index), "factors": list(data.factor_names), "seed": seed},
        )
        yield {}, {"r2": score, "mean_squared_error": float(errors.mean())}


def factor_variances(run: Run, data: ImageDataset) -> np.ndarray:
    """Variance of each scaled factor: of n even steps (n + 1) / (12 (n - 1)), of measured ones that in the data."""
    sizes = run.problem.factor_sizes
    if sizes is None:
        return scaled_factors(run, data.factors(np.arange(len(data)))).var(axis=0)
    return np.array([(n + 1) / (12 * (n - 1)) if n > 1 else 0.0 for n in sizes])

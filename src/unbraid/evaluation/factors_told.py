"""How much the codes tell of each factor, apart or not, as a measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unbraid.data import counter_rng
from unbraid.errors import UsageError
from unbraid.evaluation.base import Measure, Row, register
from unbraid.metrics import Score, r2

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.training import Run

__all__ = ["FactorsTold", "told_by_factor"]


@register("factors")
@dataclass(frozen=True)
class FactorsTold(Measure):
    """R² of each factor from all mean codes by boosted trees, and how often they name the value of a category.

    ``r2_FACTOR``, ``accuracy_FACTOR`` and the mean ``r2``: what a model found, whether or not in a latent of its own.
    """

    title = "What codes tell of each factor"
    titles: ClassVar[Mapping[str, str]] = {"r2": "mean R² of factors"}
    needs = "a model that encodes, and data with factors"
    train: int = 10_000
    """Images that the trees are grown on."""
    test: int = 5_000
    """Images that they are judged on."""

    def __post_init__(self) -> None:
        for name in ("train", "test"):
            if getattr(self, name) < 10:
                raise UsageError(f"{name} must be at least 10, got {getattr(self, name)}")

    def made_of(self) -> Mapping[str, Any]:
        return {**super().made_of(), "r2": r2}

    def applies(self, run: Run, data: ImageDataset) -> bool:
        return run.can("encode") and data.has_factors

    def rows(self, run: Run, data: ImageDataset, seed: int) -> Iterator[Row]:
        rng = counter_rng(seed, 0)
        index = data.sample_index(self.train + self.test, rng)
        codes, factors = run.encode(data.images(index, rng)), data.factors(index)
        grown, judged = slice(0, self.train), slice(self.train, None)
        test = (codes[judged], factors[judged])
        found = r2(codes[grown], factors[grown], test=test, kinds=data.factor_kinds, reader="trees", seed=seed)
        yield {}, {"r2": found, **told_by_factor(found, data.factor_names)}


def told_by_factor(found: Score, names: tuple[str, ...]) -> dict[str, float]:
    """The parts of an R² by name: ``r2_FACTOR`` of all factors, ``accuracy_FACTOR`` of categorical ones."""
    shares = {f"r2_{name}": float(share) for name, share in zip(names, found.parts["per_factor"], strict=True)}
    named = zip(names, found.parts["accuracy"], strict=True)
    return shares | {f"accuracy_{name}": float(share) for name, share in named if not np.isnan(share)}

"""What analyses need to know of a split: enough to run them where neither data set nor split are at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.data import FactorSpace
from unbraid.errors import UsageError
from unbraid.generalization.baselines import BASELINES, baseline, marginals, mean_target
from unbraid.generalization.scores import Scores, space_of
from unbraid.reading import check_form

if TYPE_CHECKING:
    from unbraid.data import Split

__all__ = ["SplitFacts"]

_SCORES = {"r2": [float], "squared_error": [float], "images": int}
_FORM = {
    "data": str,
    "kind": str,
    "seed": int | None,
    "hash": str,
    "factors": [{"name": str, "size": int, "kind": str, "unseen": [int], "train_mean": float}],
    "baselines": dict.fromkeys(BASELINES, _SCORES),
}


@dataclass(frozen=True, eq=False)
class SplitFacts:
    """A split as analyses see it: its factors, which of their values training never shows, and its baselines."""

    data: str
    """Name of the data set that was split."""
    kind: str
    seed: int | None
    """Of a random split."""
    hash: str
    space: FactorSpace
    unseen: Mapping[str, tuple[int, ...]]
    train_mean: np.ndarray
    """Mean of every scaled factor over the training side, ``[K]``."""
    baselines: Mapping[str, Scores]
    """Exact scores of the predictors that need no training, on the whole test side."""

    @classmethod
    def of(cls, split: Split) -> SplitFacts:
        """Of a split; counts the values on both of its sides."""
        return cls(
            split.data.name,
            split.kind,
            split.seed,
            split.hash,
            space_of(split.data),
            {name: tuple(int(value) for value in values) for name, values in split.unseen.items()},
            mean_target(marginals(split.train)),
            {name: baseline(name, split) for name in BASELINES},
        )

    def to_json(self) -> dict[str, Any]:
        """As JSON holds it."""
        space = self.space
        return {
            "data": self.data,
            "kind": self.kind,
            "seed": self.seed,
            "hash": self.hash,
            "factors": [
                {"name": name, "size": size, "kind": kind, "unseen": [*self.unseen.get(name, ())], "train_mean": mean}
                for name, size, kind, mean in zip(
                    space.names, space.sizes, space.kinds, self.train_mean.tolist(), strict=True
                )
            ],
            "baselines": {
                name: {"r2": one.r2.tolist(), "squared_error": one.squared_error.tolist(), "images": one.images}
                for name, one in self.baselines.items()
            },
        }

    @classmethod
    def from_json(cls, record: Any, source: Any, *, remedy: str) -> SplitFacts:
        """What :meth:`to_json` wrote; ``source`` is the file that errors name."""
        check_form(record, _FORM, source, remedy=remedy)
        factors = record["factors"]
        names, sizes, kinds = (tuple(factor[key] for factor in factors) for key in ("name", "size", "kind"))
        unseen = {factor["name"]: tuple(factor["unseen"]) for factor in factors if factor["unseen"]}
        for name, size in zip(names, sizes, strict=True):
            if any(not 0 <= value < size for value in unseen.get(name, ())):
                raise UsageError(f"{source}: unseen values of {name!r} must be in 0..{size - 1}; {remedy}")
        baselines = {}
        for name in BASELINES:
            found = record["baselines"][name]
            r2, errors = np.array(found["r2"], dtype=float), np.array(found["squared_error"], dtype=float)
            if not len(r2) == len(errors) == len(names):
                raise UsageError(f"{source}: baseline {name!r} must have a number per factor; {remedy}")
            baselines[name] = Scores(names, r2, errors, found["images"])
        return cls(
            record["data"],
            record["kind"],
            record["seed"],
            record["hash"],
            FactorSpace(names, sizes, kinds),
            unseen,
            np.array([factor["train_mean"] for factor in factors], dtype=float),
            baselines,
        )

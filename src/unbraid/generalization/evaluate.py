"""Any model through the benchmark: what it says of a split's images, and every score and analysis of that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.data import Dataset, FactorSpace, Split, split
from unbraid.errors import UsageError
from unbraid.evaluation import as_run
from unbraid.generalization import analyses, beyond
from unbraid.generalization.baselines import BASELINES, baseline, marginals, mean_target
from unbraid.generalization.scores import Scores, check_prediction, r2, space_of
from unbraid.training import Run

if TYPE_CHECKING:
    import polars

__all__ = ["Answers", "evaluate", "predict_part"]

BLOCK = 4096
"""Images held at a time."""


@dataclass(frozen=True)
class Answers:
    """What a model said of a split's test images (all, or as many as were asked for) and of some training images."""

    split: Split
    test: tuple[np.ndarray, np.ndarray]
    """Predictions and integer factors, ``[n, K]`` each."""
    train: tuple[np.ndarray, np.ndarray]

    @property
    def space(self) -> FactorSpace:
        return space_of(self.split.data)

    @cached_property
    def scores(self) -> Scores:
        """R² on the test side."""
        return r2(*self.test, self.space)

    @cached_property
    def trained(self) -> Scores:
        """R² on the training side."""
        return r2(*self.train, self.space)

    @cached_property
    def baselines(self) -> dict[str, Scores]:
        """Exact scores of the predictors that need no training, on the whole test side."""
        return {name: baseline(name, self.split) for name in BASELINES}

    def modularity(self) -> polars.DataFrame:
        """See :func:`unbraid.generalization.modularity`."""
        return analyses.modularity(*self.test, self.space, self.split.unseen)

    def attribution(self) -> polars.DataFrame:
        """See :func:`unbraid.generalization.attribution`."""
        return analyses.attribution(*self.test, self.space, self.split.unseen)

    def towards_mean(self) -> polars.DataFrame:
        """See :func:`unbraid.generalization.towards_mean`; the mean is that of the training side."""
        return analyses.towards_mean(*self.test, self.space, self.split.unseen, self._mean)

    def trust_range(self) -> polars.DataFrame:
        """See :func:`unbraid.generalization.trust_range`."""
        return beyond.trust_range(*self._both, self.space, self.split.unseen)

    def error_parts(self) -> polars.DataFrame:
        """See :func:`unbraid.generalization.error_parts`."""
        return beyond.error_parts(*self._both, self.space, self.split.unseen, self._mean)

    def table(self) -> polars.DataFrame:
        """R² of the model and of the baselines by factor, and their means."""
        import polars

        rows: dict[str, list[Any]] = {"factor": [*self.space.names, "mean"]}
        for name, scores in (("test", self.scores), ("train", self.trained), *self.baselines.items()):
            rows[name] = [*scores.r2.tolist(), scores.mean]
        return polars.DataFrame(rows)

    @cached_property
    def _mean(self) -> np.ndarray:
        return mean_target(marginals(self.split.train))

    @property
    def _both(self) -> tuple[np.ndarray, np.ndarray]:
        (said, factors), (said_too, factors_too) = self.test, self.train
        return np.concatenate([said, said_too]), np.concatenate([factors, factors_too])


def evaluate(
    predict: Run | Callable[[np.ndarray], Any],
    data: Dataset,
    kind: Split | str = "extrapolation",
    *,
    images: int | None = None,
    seed: int = 0,
) -> Answers:
    """What a model says of the factors outside its training images.

    ``predict`` is a run that predicts factors, a torch module, or any function from uint8 images ``[n, h, w, c]`` to
    scaled factors ``[n, K]`` (:func:`unbraid.generalization.targets`: first value 0, last value 1). ``kind`` is a split
    of ``data`` or the name of one. ``images`` bounds how many of the test side are looked at, drawn by ``seed``.
    """
    halves = kind if isinstance(kind, Split) else split(data, kind, seed)
    if halves.data is not data:
        raise UsageError(f"the split is of {halves.data.name!r}, not of {data.name!r}; make it with split(data, kind)")
    if images is not None and images < 1:
        raise UsageError(f"images must be at least 1, got {images}")
    test = predict_part(predict, halves.test, images, seed)
    return Answers(halves, test, predict_part(predict, halves.train, min(len(test[0]), 10_000), seed))


def predict_part(
    predict: Run | Callable[[np.ndarray], Any], data: Dataset, images: int | None = None, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and factors of the images of a part, block by block so that memory stays flat."""
    function = _function(predict)
    space = space_of(data)
    rng = np.random.default_rng(seed)
    whole = images is None or images >= len(data)
    index = np.arange(len(data)) if whole else np.sort(rng.choice(len(data), images, replace=False))
    said = []
    for start in range(0, len(index), BLOCK):
        block = index[start : start + BLOCK]
        said.append(check_prediction(np.asarray(function(data.images(block, rng))), len(block), space))
    return np.concatenate(said), data.factors(index)


def _function(predict: Run | Callable[[np.ndarray], Any]) -> Callable[[np.ndarray], Any]:
    if isinstance(predict, Run):
        if not predict.can("predict") or getattr(predict.objective, "predicts", "") != "factors":
            raise UsageError(
                f"the run {predict.path.name} does not predict factors; train one with the objective 'regressor', "
                "or put a read-out on its codes"
            )
        return predict.predict
    return as_run(predict).predict

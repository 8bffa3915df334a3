"""Any model through the benchmark: what it says of a split's images, and every score and analysis of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unbraid.data import Dataset, FactorSpace, Split, split
from unbraid.errors import UsageError
from unbraid.evaluation import as_run
from unbraid.generalization import analyses, beyond
from unbraid.generalization.drawing import draw, draw_split
from unbraid.generalization.facts import SplitFacts
from unbraid.generalization.scores import Scores, check_prediction, r2, space_of

if TYPE_CHECKING:
    import polars

    from unbraid.training import Run

__all__ = ["Answers", "Asked", "evaluate", "predict_part"]

BLOCK = 4096
"""Images held at a time."""


class Asked(NamedTuple):
    """What a model said of some images."""

    predicted: np.ndarray
    """Scaled factors, ``[n, K]``."""
    factors: np.ndarray
    """The truth: integers ``[n, K]``."""
    image: np.ndarray
    """Positions in the whole data set, ``[n]``."""


@dataclass(frozen=True)
class Answers:
    """What a model said of a split's test images (all, or as many as were asked for) and of some training images."""

    split: Split | SplitFacts
    test: Asked
    """Images drawn evenly from the test side."""
    train: Asked
    one_ood: Asked | None = None
    """More images of the test side in which one factor alone has an unseen value, where too few are in ``test``."""

    @cached_property
    def facts(self) -> SplitFacts:
        """What the analyses know of the split."""
        return self.split if isinstance(self.split, SplitFacts) else SplitFacts.of(self.split)

    @property
    def space(self) -> FactorSpace:
        return self.facts.space

    @cached_property
    def scores(self) -> Scores:
        """R² on the test side."""
        return r2(self.test.predicted, self.test.factors, self.space)

    @cached_property
    def trained(self) -> Scores:
        """R² on the training side."""
        return r2(self.train.predicted, self.train.factors, self.space)

    @property
    def baselines(self) -> Mapping[str, Scores]:
        """Exact scores of the predictors that need no training, on the whole test side."""
        return self.facts.baselines

    def modularity(self) -> polars.DataFrame:
        """See :func:`unbraid.generalization.modularity`."""
        return analyses.modularity(*self._tested, self.space, self.facts.unseen)

    def attribution(self) -> polars.DataFrame:
        """See :func:`unbraid.generalization.attribution`."""
        return analyses.attribution(*self._tested, self.space, self.facts.unseen)

    def towards_mean(self) -> polars.DataFrame:
        """See :func:`unbraid.generalization.towards_mean`; the mean is that of the training side."""
        return analyses.towards_mean(*self._tested, self.space, self.facts.unseen, self.facts.train_mean)

    def inside_seen(self) -> float:
        """See :func:`unbraid.generalization.inside_seen`."""
        return analyses.inside_seen(*self._tested, self.space, self.facts.unseen)

    def trust_range(self) -> polars.DataFrame:
        """See :func:`unbraid.generalization.trust_range`."""
        return beyond.trust_range(*self._all, self.space, self.facts.unseen)

    def error_parts(self) -> polars.DataFrame:
        """See :func:`unbraid.generalization.error_parts`."""
        return beyond.error_parts(*self._all, self.space, self.facts.unseen, self.facts.train_mean)

    def table(self) -> polars.DataFrame:
        """R² of the model and of the baselines by factor, and their means."""
        import polars

        rows: dict[str, list[Any]] = {"factor": [*self.space.names, "mean"]}
        for name, scores in (("test", self.scores), ("train", self.trained), *self.baselines.items()):
            rows[name] = [*scores.r2.tolist(), scores.mean]
        return polars.DataFrame(rows)

    @property
    def _tested(self) -> tuple[np.ndarray, np.ndarray]:
        return _together(self.test, self.one_ood)

    @property
    def _all(self) -> tuple[np.ndarray, np.ndarray]:
        return _together(self.test, self.one_ood, self.train)


def evaluate(
    predict: Run | Callable[[np.ndarray], Any],
    data: Dataset,
    kind: Split | str = "extrapolation",
    *,
    images: int | None = None,
    train_images: int | None = None,
    one_ood: int = 0,
    seed: int = 0,
) -> Answers:
    """What a model says of the factors outside its training images.

    ``predict`` is a run that predicts factors, a read-out, a torch module, or any function from uint8 images
    ``[n, h, w, c]`` to scaled factors ``[n, K]`` (:func:`unbraid.generalization.targets`: first value 0, last value 1).
    ``kind`` is a split of ``data`` or the name of one. ``images`` bounds how many of the test side are looked at and
    ``train_images`` how many of the other, drawn by ``seed``. Where these hold fewer than ``one_ood`` images in which
    a certain factor alone has an unseen value, more of them are looked at, for the analyses that need such images
    alone; R² is of ``images`` and stays what it would be without them.
    """
    halves = kind if isinstance(kind, Split) else split(data, kind, seed)
    if halves.data is not data:
        raise UsageError(f"the split is of {halves.data.name!r}, not of {data.name!r}; make it with split(data, kind)")
    _check_split(predict, halves)
    test, train, more = draw_split(halves, images, train_images, one_ood, seed)
    return Answers(
        halves,
        _ask(predict, halves.test, test, seed),
        _ask(predict, halves.train, train, seed),
        _ask(predict, halves.test, more, seed) if len(more) else None,
    )


def _check_split(predict: Any, halves: Split) -> None:
    """Refuse a run or a read-out that was trained on another split of the same grid."""
    from unbraid.training import Run

    run = getattr(predict, "encoder", predict)
    if isinstance(run, Run):
        run.check_data(halves.test)


def predict_part(
    predict: Run | Callable[[np.ndarray], Any], data: Dataset, images: int | None = None, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and factors of the images of a part, block by block so that memory stays flat."""
    found = _ask(predict, data, draw(len(data), images, seed), seed)
    return found.predicted, found.factors


def _ask(predict: Run | Callable[[np.ndarray], Any], data: Dataset, index: np.ndarray, seed: int) -> Asked:
    function = _function(predict)
    if hasattr(predict, "check_data"):
        predict.check_data(data)  # a run knows on which split it was trained
    space, rng = space_of(data), np.random.default_rng(seed)
    said = np.empty((len(index), len(space.names)))
    for start in range(0, len(index), BLOCK):
        block = index[start : start + BLOCK]
        found = check_prediction(np.asarray(function(data.images(block, rng))), len(block), space)
        said[start : start + BLOCK] = found
    return Asked(said, data.factors(index), data.origin(index))


def _function(predict: Run | Callable[[np.ndarray], Any]) -> Callable[[np.ndarray], Any]:
    from unbraid.training import Run

    if isinstance(predict, Run):
        if not predict.can("predict") or getattr(predict.objective, "predicts", "") != "factors":
            raise UsageError(
                f"the run {predict.path.name} does not predict factors; train one with the objective 'regressor', "
                "or put a read-out on its codes: evaluate(fit_readout(run, split), ...)"
            )
        return predict.predict
    return as_run(predict).predict


def _together(*parts: Asked | None) -> tuple[np.ndarray, np.ndarray]:
    there = [part for part in parts if part is not None]
    return np.concatenate([part.predicted for part in there]), np.concatenate([part.factors for part in there])

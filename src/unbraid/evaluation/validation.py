"""Scores of codes from a few labels, as those who choose a model have them (Locatello et al., 2020, few labels)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unbraid.data import FewLabelsStream, Purpose, counter_rng
from unbraid.errors import UsageError, unknown_name
from unbraid.evaluation.base import Measure, Row, Scores, register
from unbraid.labelling import Labels
from unbraid.metrics import METRICS, Score

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.training import Run

__all__ = ["VALIDATED", "Validation", "validation_scores"]

VALIDATED = ("mig", "dci", "sap")
"""The scores that the study of few labels validates by."""
_KNOWN = ("sample", "train and test")


@register("validation")
@dataclass(frozen=True)
class Validation(Measure):
    """MIG, DCI and SAP of the mean codes of a few labelled images, as a model is chosen by.

    Labelled images are drawn by the seed, without those whose labels the run was trained on; more labels are the fewer
    ones and others. Scores of one sample see all of them, those that fit something the first nine tenths and are judged
    on the rest. Labels that do not vary are left out.
    """

    title = "Validation by few labels"
    titles: ClassVar[Mapping[str, str]] = {
        "validation_mig": "MIG of few labels",
        "validation_dci": "DCI disentanglement of few labels",
        "validation_sap": "SAP of few labels",
    }
    needs = "a model that encodes, and data with known factors of numbered values"
    labels: tuple[int, ...] = (100, 1000)
    """How many images are labelled."""
    labeller: tuple[str, ...] = ("exact",)
    """What the labels are like: exact, binned:bins=5, noisy:p=0.1, permuted, partial:factors=2; several joined by +."""
    metrics: tuple[str, ...] = VALIDATED
    """Scores of codes against factors by name."""

    def __post_init__(self) -> None:
        if not self.labels or min(self.labels) < 10:
            raise UsageError(f"labels must be numbers from 10 on, got {self.labels!r}: a tenth of them is for judging")
        for name in self.metrics:
            if METRICS[name].needs not in _KNOWN:
                known = [other for other, metric in METRICS.items() if metric.needs in _KNOWN]
                raise unknown_name("metric of a labelled sample", name, known)

    def made_of(self) -> Mapping[str, Any]:
        return {**super().made_of(), **{name: METRICS[name].function for name in self.metrics}}

    def applies(self, run: Run, data: ImageDataset) -> bool:
        return run.can("encode") and data.has_factors and data.factor_sizes is not None

    def rows(self, run: Run, data: ImageDataset, seed: int) -> Iterator[Row]:
        index = _labelled(run, data, max(self.labels), seed)
        rng = counter_rng(seed, 1, Purpose.VALIDATED)  # images may depend on chance
        codes, factors = run.encode(data.images(index, rng)), data.factors(index)
        for labeller in self.labeller:
            values = Labels(labeller, data.factor_sizes or (), seed).of(factors)
            for count in self.labels:
                found = validation_scores(
                    codes[:count],
                    values[:count],
                    metrics=self.metrics,
                    discrete=getattr(run, "discrete_codes", False),
                    seed=seed,
                )
                yield {"labels": count, "labeller": labeller}, found


def validation_scores(
    codes: np.ndarray,
    labels: np.ndarray,
    *,
    metrics: tuple[str, ...] = VALIDATED,
    discrete: bool = False,
    seed: int = 0,
) -> Scores:
    """Scores of codes ``[n, d]`` against labels ``[n, k]``, each called ``validation_`` and its name.

    Of 100 labels with 40 values, half of what a code seems to know of them is chance: counting finds about (bins - 1)
    (values - 1) / (2 n) nats where there are none. Compare only models with equally many labels.

    >>> grid = np.indices((5, 6)).reshape(2, -1).T
    >>> validation_scores(grid, grid, metrics=("mig",))
    {'validation_mig': mig 1.00 of 1.00}
    """
    held_out = max(len(codes) // 10, 1)
    whole, first, last = slice(None), slice(0, len(codes) - held_out), slice(len(codes) - held_out, None)
    found: dict[str, Score | float] = {}
    for name in metrics:
        metric = METRICS[name]
        fits = metric.needs == "train and test"
        seen = first if fits else whole
        varying = [k for k, column in enumerate(labels[seen].T) if len(np.unique(column)) > 1]
        options = metric.discrete if discrete else {}
        try:
            if not varying:
                raise UsageError("no label varies among the labelled images")
            test = (codes[last], labels[last][:, varying]) if fits else None
            score = metric.score(codes[seen], labels[seen][:, varying], test=test, seed=seed, options=options)
        except UsageError as error:
            score = Score(name, math.nan, settings={"not_possible": str(error)})
        found[f"validation_{metric.name}"] = score.with_settings(labels=len(codes), varying=varying)
    return found


def _labelled(run: Run, data: ImageDataset, count: int, seed: int) -> np.ndarray:
    """Positions of labelled images, none of which the run knows the labels of."""
    rng = counter_rng(seed, 0, Purpose.VALIDATED)
    known = _taught(run, data)
    if data.uniform:
        drawn = rng.permutation(len(data))
    else:  # as all images of these data are drawn, so that some may come twice
        drawn = data.sample_index(4 * (count + len(known)), rng)
    if len(known):
        sizes = tuple(int(size) for size in data.factor_sizes or ())
        cells = np.ravel_multi_index(tuple(data.factors(drawn).T), sizes)
        drawn = drawn[~np.isin(cells, np.ravel_multi_index(tuple(known.T), sizes))]
    if len(drawn) < count:
        without = f" without the {len(known)} that the run learned from" if len(known) else ""
        raise UsageError(
            f"{count} labels are asked for, and {data.name!r} has {len(drawn)} images{without}; "
            f"ask for fewer: validation:labels={max(len(drawn), 10)}"
        )
    return drawn[:count]


def _taught(run: Run, data: ImageDataset) -> np.ndarray:
    """Factors ``[n, K]`` of the images whose labels a run was trained on, if its data have the same factors."""
    objective = getattr(run, "objective", None)
    none = np.empty((0, len(data.factor_names)), dtype=np.int64)
    if objective is None or not hasattr(objective, "label_seed"):
        return none
    from unbraid.training import describe_data

    stored, here = run.info["data"], describe_data(data)
    same = all(stored.get(key) == here[key] for key in ("fingerprint", "positions"))
    trained = data if same else run.data()
    if (trained.factor_names, trained.factor_sizes) != (data.factor_names, data.factor_sizes):
        return none
    options = {"labels": objective.labels, "label_seed": objective.label_seed}
    return trained.factors(FewLabelsStream(trained, 1, 0, **options).labelled)

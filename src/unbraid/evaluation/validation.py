"""Scores of codes from a few labels, as those who choose a model have them (Locatello et al., 2020, few labels)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unbraid.data import FewLabelsStream, Purpose, SubSpace, counter_rng
from unbraid.errors import UsageError, unknown_name
from unbraid.evaluation.base import Measure, Row, Scores, register
from unbraid.evaluation.models import lineage_of
from unbraid.labelling import Labels
from unbraid.metrics import METRICS, Score, check_codes, check_factors

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.training import Run

__all__ = ["VALIDATED", "Validation", "validation_scores"]

VALIDATED = ("mig", "dci", "sap")
"""The scores that the study of few labels validates by."""
_KNOWN = ("sample", "train and test")
_FEWEST = 10
_ANY_FACTORS = (2,) * 1000
"""Sizes of more factors than data have, for looking at a labeller before the data are known."""
_BLOCK, _MOST = 1024, 1000
"""Images that are drawn at a time where they are not drawn alike, and how often at most."""


@register("validation")
@dataclass(frozen=True)
class Validation(Measure):
    """MIG, DCI and SAP of the mean codes of a few labelled images, as a model is chosen by.

    Labelled images are drawn by the seed, without those whose labels the run was trained on, or a run that it was
    started from; more labels are the fewer ones and others. Scores of one sample see all of them, those that fit
    something the first nine tenths and are judged on the rest. Labels that do not vary are left out.
    """

    title = "Validation by few labels"
    titles: ClassVar[Mapping[str, str]] = {
        "validation_mig": "MIG of few labels",
        "validation_dci": "DCI disentanglement of few labels",
        "validation_sap": "SAP of few labels",
    }
    version = 2  # other images of data that are not drawn alike
    needs = "a model that encodes and was not told of every image's labels, and data with factors of numbered values"
    labels: tuple[int, ...] = (100, 1000)
    """How many images are labelled."""
    labeller: tuple[str, ...] = ("exact",)
    """What the labels are like: exact, binned:bins=5, noisy:p=0.1, permuted, partial:factors=2; several joined by +."""
    metrics: tuple[str, ...] = VALIDATED
    """Scores of codes against factors by name."""

    def __post_init__(self) -> None:
        if not self.labels or min(self.labels) < _FEWEST:
            raise UsageError(
                f"labels must be numbers from {_FEWEST} on, got {self.labels!r}: a tenth of them is for judging"
            )
        if not self.labeller:
            raise UsageError("labeller must name at least one, as in labeller=exact, got none")
        for labeller in self.labeller:
            Labels(labeller, _ANY_FACTORS)  # refuses what is none before anything is encoded
        _check_metrics(self.metrics)

    def made_of(self) -> Mapping[str, Any]:
        return {**super().made_of(), **{name: METRICS[name].function for name in self.metrics}}

    def applies(self, run: Run, data: ImageDataset) -> bool:
        told = getattr(getattr(run, "objective", None), "sees_labels", False)
        return run.can("encode") and not told and data.has_factors and data.factor_sizes is not None

    def rows(self, run: Run, data: ImageDataset, seed: int) -> Iterator[Row]:
        labellers = {labeller: Labels(labeller, data.factor_sizes or (), seed) for labeller in self.labeller}
        index = _labelled(run, data, max(self.labels), seed)
        rng = counter_rng(seed, 1, Purpose.VALIDATED)  # images may depend on chance
        codes, factors = run.encode(data.images(index, rng)), data.factors(index)
        for labeller, labels in labellers.items():
            values = labels.of(factors)
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
    (values - 1) / (2 n) nats where there are none. Compare only models with equally many labels. Where no label varies
    there is nothing to score, and scores are NaN.

    >>> grid = np.indices((5, 6)).reshape(2, -1).T
    >>> validation_scores(grid, grid, metrics=("mig",))
    {'validation_mig': mig 1.00 of 1.00}
    """
    codes, labels = check_codes(codes), check_factors(labels, name="labels", constant=True)
    if len(codes) != len(labels):
        raise UsageError(f"codes and labels differ in length: {len(codes)} rows and {len(labels)} rows")
    _check_metrics(metrics)
    held_out = max(len(codes) // 10, 1)
    whole, first, last = slice(None), slice(0, len(codes) - held_out), slice(len(codes) - held_out, None)
    found: dict[str, Score | float] = {}
    for name in metrics:
        metric = METRICS[name]
        fits = metric.needs == "train and test"
        seen = first if fits else whole
        varying = [k for k, column in enumerate(labels[seen].T) if len(np.unique(column)) > 1]
        options = metric.discrete if discrete else {}
        if varying:
            test = (codes[last], labels[last][:, varying]) if fits else None
            score = metric.score(codes[seen], labels[seen][:, varying], test=test, seed=seed, options=options)
        else:
            score = Score(name, math.nan, settings={"not_possible": "no label varies among the labelled images"})
        found[f"validation_{metric.name}"] = score.with_settings(labels=len(codes), varying=varying)
    return found


def _check_metrics(metrics: Sequence[str]) -> None:
    """Refuse names of no metric, and metrics that a labelled sample is not enough for."""
    if isinstance(metrics, str) or not metrics:
        raise UsageError(f"metrics must be names of scores, as in {VALIDATED}, got {metrics!r}")
    known = [name for name, metric in METRICS.items() if metric.needs in _KNOWN]
    for name in metrics:
        if name not in known:
            raise unknown_name("metric of a labelled sample", name, known)


def _labelled(run: Run, data: ImageDataset, count: int, seed: int) -> np.ndarray:
    """Positions of labelled images, none of which the run knows the labels of."""
    rng = counter_rng(seed, 0, Purpose.VALIDATED)
    known = _taught(run, data)
    without = f" without the {len(known)} that the run learned from" if len(known) else ""
    if data.uniform:
        drawn = _new(data, rng.permutation(len(data)), known)
        there = f"{data.name!r} has {len(drawn)} images{without}"
    else:
        # As all images of these data are drawn, so that some may come twice; in blocks, since a law may draw other
        # images first where it draws more at once.
        parts: list[np.ndarray] = []
        while sum(map(len, parts)) < count and len(parts) < _MOST:
            parts.append(_new(data, data.sample_index(_BLOCK, rng), known))
        drawn = np.concatenate(parts)
        there = f"{len(drawn)} of {_BLOCK * len(parts)} images drawn from {data.name!r} are left{without}"
    if len(drawn) < count:
        fewer = (
            f"ask for fewer: validation:labels={len(drawn)}"
            if len(drawn) >= _FEWEST
            else f"that is less than the {_FEWEST} that a validation needs, so take a run that was taught fewer labels"
        )
        raise UsageError(f"{count} labels are asked for, and {there}; {fewer}")
    return drawn[:count]


def _new(data: ImageDataset, drawn: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Those of the drawn positions whose factors are not among the ``known`` rows."""
    if not len(known):
        return drawn
    sizes = tuple(int(size) for size in data.factor_sizes or ())
    cells = np.ravel_multi_index(tuple(data.factors(drawn).T), sizes)
    found: np.ndarray = drawn[~np.isin(cells, np.ravel_multi_index(tuple(known.T), sizes))]
    return found


def _taught(run: Run, data: ImageDataset) -> np.ndarray:
    """Factors ``[n, K]`` of the images whose labels a run was trained on, or one that it was started from.

    Refused where that cannot be told: of who saw labels of all images, or of images on another grid than that of data.
    """
    rows = [np.empty((0, len(data.factor_names)), dtype=np.int64)]
    for one in lineage_of(run):
        objective = one.objective
        if objective.sees_labels:
            through = "" if one is run else f" (which {run.path} was started from)"
            raise UsageError(
                f"{one.path}{through} was trained by {objective.name!r}, which is told of the labels of every image: "
                "no images are left to validate it by"
            )
        if hasattr(objective, "label_seed"):
            trained = _trained_on(one, data)
            options = {name: getattr(objective, name) for name in ("labels", "label_seed")}
            rows.append(trained.factors(FewLabelsStream(trained, 1, 0, **options).labelled))
    return np.unique(np.concatenate(rows), axis=0)


def _trained_on(run: Run, data: ImageDataset) -> ImageDataset:
    """The data a run was trained on, whose grid must be that of ``data``."""
    from unbraid.training import describe_data

    stored, here = run.info["data"], describe_data(data)
    same = all(stored.get(key) == here[key] for key in ("fingerprint", "positions"))
    trained = data if same else run.data()
    if _grid(trained) != _grid(data):
        raise UsageError(
            f"{run.path} was taught labels of {trained.name!r}, whose factors take other values than those of "
            f"{data.name!r}, so that the images it was taught cannot be left out; validate it on {trained.name!r}"
        )
    return trained


def _grid(data: ImageDataset) -> tuple:
    """Names and numbers of values of the factors, and which values of a larger grid they are."""
    chosen, space = [], data.grid
    while isinstance(space, SubSpace):
        chosen.append((space.names, space.values, space.kept))
        space = space.parent
    return tuple(data.factor_names), tuple(data.factor_sizes or ()), chosen

"""How a model fails where it was not trained: pure functions from predictions to small tables (Schott et al., 2022).

All of them take predictions ``[n, K]`` of scaled factors, the integer factors ``[n, K]`` of the same images, their
space, and which values of which factors training never showed (``split.unseen``). Rows of images in which exactly one
factor has an unseen value are looked at, the others are left out: errors can then be laid at one factor's door.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unbraid.data import FactorSpace
from unbraid.errors import UsageError
from unbraid.generalization.scores import check_prediction, r2, targets

if TYPE_CHECKING:
    import polars

__all__ = ["attribution", "inside_seen", "modularity", "one_unseen", "similarity", "towards_mean"]

Unseen = Mapping[str, Sequence[int]]


def one_unseen(factors: np.ndarray, space: FactorSpace, unseen: Unseen) -> np.ndarray:
    """Which factor alone has an unseen value, as its column; -1 where none or several have: int64 ``[n]``.

    >>> space = FactorSpace(("x", "y"), (4, 4), ("ordinal", "ordinal"))
    >>> one_unseen([[0, 0], [3, 0], [0, 3], [3, 3]], space, {"x": (3,), "y": (3,)})
    array([-1,  0,  1, -1])
    """
    rows = np.asarray(factors)
    beyond = np.stack(
        [np.isin(column, list(unseen.get(name, ()))) for name, column in zip(space.names, rows.T, strict=True)], axis=1
    )
    return np.where(beyond.sum(axis=1) == 1, beyond.argmax(axis=1), -1)


def modularity(prediction: np.ndarray, factors: np.ndarray, space: FactorSpace, unseen: Unseen) -> polars.DataFrame:
    """For each factor that leaves the seen values alone: R² of that factor, mean R² of all others, number of images.

    A modular model keeps the others (``id``) while it loses the one (``ood``). The model's scores are the means over
    rows, or weighted by ``images``.
    """
    import polars

    rows = []
    for k, chosen in _each(factors, space, unseen):
        scores = r2(prediction[chosen], factors[chosen], space).r2
        rows.append((space.names[k], float(scores[k]), float(np.delete(scores, k).mean()), int(chosen.sum())))
    return polars.DataFrame(rows, schema=["factor", "ood", "id", "images"], orient="row")


def attribution(prediction: np.ndarray, factors: np.ndarray, space: FactorSpace, unseen: Unseen) -> polars.DataFrame:
    """Mean R² over all factors on the images in which this factor alone leaves the seen values: which hurts most."""
    import polars

    rows = [
        (space.names[k], r2(prediction[chosen], factors[chosen], space).mean, int(chosen.sum()))
        for k, chosen in _each(factors, space, unseen)
    ]
    return polars.DataFrame(rows, schema=["factor", "r2", "images"], orient="row")


def towards_mean(
    prediction: np.ndarray, factors: np.ndarray, space: FactorSpace, unseen: Unseen, mean: np.ndarray
) -> polars.DataFrame:
    """How far predictions of an unseen value go from the mean, as a share of how far the truth lies: one row an image.

    ``share`` is |prediction - mean| / |truth - mean|: below 1 the model is drawn towards what it saw. ``mean`` are the
    means of the scaled factors, usually over the training side (:func:`mean_target`). Values that lie on the mean
    itself, which interpolation may ask for, have no share and are left out.
    """
    import polars

    parts = []
    for k, chosen in _each(factors, space, unseen):
        truth, said = targets(factors[chosen], space)[:, k], np.asarray(prediction)[chosen, k]
        far = np.abs(truth - mean[k])
        there = far > 1e-9
        share = np.abs(said[there] - mean[k]) / far[there]
        parts.append(
            polars.DataFrame({"share": share, "value": np.asarray(factors)[chosen, k][there]}).select(
                polars.lit(space.names[k]).alias("factor"), "value", "share"
            )
        )
    return polars.concat(parts)


def inside_seen(prediction: np.ndarray, factors: np.ndarray, space: FactorSpace, unseen: Unseen) -> float:
    """The share of images with one unseen value whose predicted value lies between the lowest and the highest seen one.

    A prediction counts as inside up to half a step of the grid beyond: there the nearest value is still a seen one.
    """
    inside = []
    for k, chosen in _each(factors, space, unseen):
        size, name = space.sizes[k], space.names[k]
        seen = np.setdiff1d(np.arange(size), np.asarray(unseen[name], dtype=np.int64))
        said = np.asarray(prediction)[chosen, k] * (size - 1)
        inside.append((said >= seen.min() - 0.5) & (said <= seen.max() + 0.5))
    return float(np.concatenate(inside).mean())


def similarity(
    predictions: Mapping[str, Sequence[np.ndarray]], factors: np.ndarray, space: FactorSpace, unseen: Unseen
) -> polars.DataFrame:
    """Correlation of what models say of the factor that left the seen values, for every two kinds of model.

    ``predictions`` holds one array ``[n, K]`` per trained seed under each model's name; the truth is one more model,
    ``truth``. ``pooled`` correlates the predictions of all such factors in one row, as the paper's figure seems to;
    since factors differ in where their unseen values lie, part of it is offset. ``within`` is the mean of the
    correlations within each factor, where they are defined. Both are means over pairs of seeds, a model with itself
    only through different seeds; NaN where nothing varies.
    """
    import polars

    each = _each(factors, space, unseen)
    truth = targets(factors, space)
    named: dict[str, list[np.ndarray]] = {}
    for name, seeds in (*predictions.items(), ("truth", [truth])):
        if name in named:
            raise UsageError("predictions must not call a model 'truth': that is what the factors are called here")
        named[name] = [check_prediction(one, len(truth), space) for one in seeds]
    columns = {name: [[one[chosen, k] for k, chosen in each] for one in seeds] for name, seeds in named.items()}
    rows = []
    for first in columns:
        for second in columns:
            pairs = [
                (a, b)
                for i, a in enumerate(columns[first])
                for j, b in enumerate(columns[second])
                if first != second or i < j
            ]
            if first == second == "truth":
                pairs = [(columns["truth"][0], columns["truth"][0])]
            pooled = [_correlation(np.concatenate(a), np.concatenate(b)) for a, b in pairs]
            within = [_mean([_correlation(x, y) for x, y in zip(a, b, strict=True)]) for a, b in pairs]
            rows.append((first, second, _mean(pooled), _mean(within), len(pairs)))
    return polars.DataFrame(rows, schema=["first", "second", "pooled", "within", "pairs"], orient="row")


def _each(factors: np.ndarray, space: FactorSpace, unseen: Unseen) -> list[tuple[int, np.ndarray]]:
    """Each factor with unseen values, and the rows in which it alone takes one."""
    if not any(unseen.values()):
        raise UsageError(
            "unseen holds no value: only interpolation, extrapolation and splits of that kind keep values from training"
        )
    alone = one_unseen(factors, space, unseen)
    found = [(k, alone == k) for k in range(len(space.names)) if (alone == k).any()]
    if not found:
        raise UsageError("factors hold no row with exactly one unseen value; look at split.one_ood()")
    return found


def _correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Pearson's, or NaN where one of them does not vary."""
    a, b = first - first.mean(), second - second.mean()
    scale = np.sqrt((a @ a) * (b @ b))
    # Rounding makes a constant vary by the last digit.
    varies = min(np.ptp(first), np.ptp(second)) > 1e-12
    return float(a @ b / scale) if varies and scale > 0 else float("nan")


def _mean(numbers: Sequence[float]) -> float:
    """Of those that are defined."""
    defined = [number for number in numbers if not np.isnan(number)]
    return float(np.mean(defined)) if defined else float("nan")

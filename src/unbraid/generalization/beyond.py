"""How far a model can be trusted beyond what it saw, and what its errors are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unbraid.data import FactorSpace
from unbraid.errors import UsageError
from unbraid.generalization.analyses import Unseen, one_unseen
from unbraid.generalization.scores import check_prediction, targets

if TYPE_CHECKING:
    import polars

__all__ = ["error_parts", "trust_range"]

INSIDE = 0.95
"""Quantile of the errors inside the seen range that errors beyond it are held against."""


def trust_range(prediction: np.ndarray, factors: np.ndarray, space: FactorSpace, unseen: Unseen) -> polars.DataFrame:
    """For each factor, how far beyond its seen values predictions stay as good as inside: steps of its grid.

    Inside are the images with seen values alone, so give predictions of both sides of a split. ``bound`` is the 95 %
    quantile of the absolute errors there; ``steps`` the largest distance to the nearest seen value up to which, at
    every distance, half of the errors stay below it; ``asked`` the largest distance there is. 0 steps: not to be
    trusted one step beyond.
    """
    import polars

    truth = targets(factors, space)
    errors = np.abs(check_prediction(prediction, len(truth), space) - truth)
    alone, inside = one_unseen(factors, space, unseen), _seen_alone(factors, space, unseen)
    if not inside.any():
        raise UsageError("factors hold no row with seen values alone; give predictions of the training side too")
    rows = []
    for k, name in enumerate(space.names):
        chosen = alone == k
        if not chosen.any():
            continue
        seen = np.setdiff1d(np.arange(space.sizes[k]), list(unseen[name]))
        distance = np.abs(np.asarray(factors)[chosen, k][:, None] - seen).min(axis=1)
        bound = float(np.quantile(errors[inside, k], INSIDE))
        holds = [bool(np.median(errors[chosen, k][distance == d]) <= bound) for d in np.unique(distance)]
        steps = int(np.unique(distance)[: holds.index(False) if False in holds else len(holds)].max(initial=0))
        rows.append((name, bound, steps, int(distance.max()), steps / (space.sizes[k] - 1)))
    return polars.DataFrame(rows, schema=["factor", "bound", "steps", "asked", "scaled"], orient="row")


def error_parts(
    prediction: np.ndarray, factors: np.ndarray, space: FactorSpace, unseen: Unseen, mean: np.ndarray
) -> polars.DataFrame:
    """The squared error of each factor as a sum: shrinkage towards the mean, offset, noise.

    The least squares fit f - m = s (t - m) + e of predictions f to truths t about the mean m of the training side
    (:func:`mean_target`) gives (s - 1)² E(t - m)² for shrinkage (``slope`` s below 1 means drawn to the mean, above 1
    overshooting), E(e)² for the offset and Var(e) for the noise; the three add up to the squared error exactly, because
    e and t - m are orthogonal. ``where`` tells images with seen values alone from those where this factor alone is
    unseen.
    """
    import polars

    truth = targets(factors, space)
    found = check_prediction(prediction, len(truth), space)
    alone, inside = one_unseen(factors, space, unseen), _seen_alone(factors, space, unseen)
    rows = []
    for k, name in enumerate(space.names):
        for where, chosen in (("seen", inside), ("unseen", alone == k)):
            if not chosen.any():
                continue
            far, said = truth[chosen, k] - mean[k], found[chosen, k] - mean[k]
            power = float(far @ far)
            slope = float(far @ said) / power if power > 0 else 1.0
            rest = said - slope * far
            shrinkage = (slope - 1) ** 2 * power / len(far)
            rows.append((name, where, slope, shrinkage, float(rest.mean() ** 2), float(rest.var()), int(chosen.sum())))
    schema = ["factor", "where", "slope", "shrinkage", "offset", "noise", "images"]
    return polars.DataFrame(rows, schema=schema, orient="row")


def _seen_alone(factors: np.ndarray, space: FactorSpace, unseen: Unseen) -> np.ndarray:
    rows = np.asarray(factors)
    return ~np.any([np.isin(rows[:, space.names.index(name)], list(values)) for name, values in unseen.items()], axis=0)

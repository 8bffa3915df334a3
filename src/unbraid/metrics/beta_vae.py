"""BetaVAE score (Higgins et al., 2017)."""

from functools import partial
from typing import Any

import numpy as np

from unbraid.errors import UsageError
from unbraid.metrics._encode import FactorData, Space
from unbraid.metrics._interventions import Ideal, Pairs, Plan, Rows, Sampling, by_points, carry_out, draw_pairs
from unbraid.metrics._kinds import standardize
from unbraid.metrics._logistic import SOLVER, fit_logistic, log_probabilities
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Score, check_seed, generator

__all__ = ["beta_vae"]


def _plan(space: Space, sampling: Sampling, *, rescale: bool = False, seed: int = 0) -> Plan:
    learn, check = sampling.groups
    pairs = draw_pairs(space, learn + check, sampling.batch, generator(seed))
    score = partial(_score, pairs=pairs, space=space, train=learn, rescale=rescale, seed=seed)
    return Plan(pairs.index.reshape(-1), score)


@register(
    "beta_vae",
    needs="interventions",
    range=UNIT,
    title="BetaVAE score",
    short="BetaVAE",
    about="which factor do pairs of images share, by logistic regression",
    plan=_plan,
)
def beta_vae(
    encode: Any,
    data: FactorData,
    *,
    batch: int = 64,
    train: int = 10_000,
    test: int = 5_000,
    rescale: bool = False,
    seed: int = 0,
) -> Score:
    """Accuracy of telling which factor two images share from how little each code differs between them.

    One point: a factor, ``batch`` pairs of images that agree in it, the mean absolute difference of each code. A
    multinomial logistic regression (L2, C = 1) on ``train`` points is scored on ``test`` fresh ones. ``encode`` maps
    uint8 images to codes, or is a run. Constant codes leave only chance, one over the number of factors.

    Flaws: a code with one factor missing still scores near 1, since the absence of any small difference gives
    the factor away; and the penalty acts on raw differences, so shrinking the codes lowers the score.
    ``rescale=True`` standardises the features and removes the latter.
    """
    if min(batch, train, test) < 1:
        raise UsageError(f"batch, train and test must be at least 1, got {batch}, {train}, {test}")
    return carry_out(_plan, encode, data, Sampling(train, test, batch), rescale=rescale, seed=seed)


def _score(codes: Rows, pairs: Pairs, space: Space, *, train: int, rescale: bool, seed: int) -> Score:
    """The score from the codes of ``pairs.index`` in its order, the first ``train`` points for training."""
    ideal = Ideal(space, pairs.index.reshape(-1))
    accuracy, per_factor = _accuracy(_differences(codes, pairs), pairs.shared, train, rescale)
    points, batch = pairs.index.shape[:2]
    return Score(
        "beta_vae",
        accuracy,
        _accuracy(_differences(ideal, pairs), pairs.shared, train, rescale)[0],
        {"per_factor": per_factor},
        {
            "estimator": "multinomial logistic regression",
            "c": 1.0,
            **SOLVER,
            "batch": batch,
            "train": train,
            "test": points - train,
            "rescale": rescale,
            "seed": check_seed(seed),
        },
    )


def _differences(codes: Rows, pairs: Pairs) -> np.ndarray:
    """Mean absolute difference of each code within the pairs of a point: ``[points, d]``."""
    points, batch, _ = pairs.index.shape
    return by_points(codes, 0, points, 2 * batch, lambda rows: np.abs(rows[:, 0::2] - rows[:, 1::2]).mean(axis=1))


def _accuracy(features: np.ndarray, labels: np.ndarray, train: int, rescale: bool) -> tuple[float, np.ndarray]:
    if rescale:
        features = standardize(features, like=features[:train])
    classes, known = np.unique(labels[:train], return_inverse=True)
    if len(classes) == 1:
        guess = np.full(len(labels) - train, classes[0])
    else:
        weights = fit_logistic(features[:train], known, c=1.0)
        guess = classes[log_probabilities(weights, features[train:]).argmax(axis=1)]
    hit = guess == labels[train:]
    drawn = np.bincount(labels[train:], minlength=labels.max() + 1)
    return float(hit.mean()), np.bincount(labels[train:], hit, minlength=len(drawn)) / np.maximum(drawn, 1)

"""Do predictions of one factor depend on another (Locatello et al., 2019)."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError
from unbraid.metrics._boosting import fit_booster
from unbraid.metrics._encode import FactorData, Space
from unbraid.metrics._interventions import Plan, Rows, Sampling, carry_out
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Score, check_seed, generator

__all__ = ["summarise_unfairness", "total_variation", "unfairness"]


def _plan(space: Space, sampling: Sampling, *, rows: int = 100, threads: int = 1, seed: int = 0) -> Plan:
    if len(space.sizes) < 2:
        raise UsageError("unfairness is towards another factor: the data need at least two")
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 2:
        raise UsageError(f"rows must be a whole number from 2 on, got {rows!r}")
    rng = generator(seed)
    learnt = space.sample(sampling.train, rng)  # the sample of DCI, whose boosters are then fitted once
    judged = space.sample(sampling.test, rng)
    drawn = space.sample(rows, rng)
    moved = []
    for sensitive, size in enumerate(space.sizes):
        for value in range(size):
            changed = drawn.copy()
            changed[:, sensitive] = value
            moved.append(changed)
    index = space.index(np.concatenate([learnt, judged, *moved]))
    score = partial(_score, learnt=learnt, judged=judged, space=space, rows=rows, threads=threads, seed=seed)
    return Plan(index, score)


@register(
    "unfairness",
    needs="interventions",
    range=UNIT,
    title="Unfairness",
    about="how far predictions of one factor follow another",
    parts={"accuracy": "Accuracy of the predictions", "by_chance": "Unfairness by chance"},
    higher_is_better=False,
    usual=False,
    plan=_plan,
)
def unfairness(
    encode: Any,
    data: FactorData,
    *,
    train: int = 10_000,
    test: int = 5_000,
    rows: int = 100,
    threads: int = 1,
    seed: int = 0,
) -> Score:
    """Mean over pairs of factors of how far the predictions of one shift as the other takes its values; 0 is fair.

    Boosted trees predict the target from the codes of ``train`` images. ``rows`` combinations of factors are drawn
    once; the sensitive factor is set to each of its values in turn and the predictions are counted. For every value,
    the total variation distance between its predictions and those of all values; ``parts["matrix"]`` ``[target,
    sensitive]`` has their mean. ``parts["summaries"]`` has means and maxima of all kinds.

    Flaws: a perfect predictor is fair whatever the code, so read ``parts["accuracy"]`` (on ``test`` images) beside it.
    Where codes or images depend on chance, so few rows differ by chance alone: ``parts["by_chance"]`` is what remains
    when the sensitive values are dealt out anew among the predictions.
    """
    if min(train, test) < 2:
        raise UsageError(f"train and test must be at least 2, got {train}, {test}")
    options = {"rows": rows, "threads": threads}
    return carry_out(_plan, encode, data, Sampling(train, test), seed=seed, **options)


def total_variation(counts: ArrayLike) -> tuple[float, float]:
    """Mean and largest total variation distance between each row of counts and the sum of all rows.

    Rows are values of the sensitive factor, columns predicted labels; the mean weighs rows by their counts.

    >>> mean, largest = total_variation([[0, 100], [100, 100]])
    >>> print(round(mean * 9, 9), round(largest * 3, 9))
    2.0 1.0
    """
    table = np.asarray(counts, dtype=np.float64)
    weights = table.sum(axis=1)
    if table.ndim != 2 or (table < 0).any() or (weights == 0).any():
        raise UsageError("counts must be [values, labels], each row with at least one prediction")
    shares, pool = table / weights[:, None], table.sum(axis=0) / weights.sum()
    distances = np.abs(shares - pool).sum(axis=1) / 2
    distances = np.where(distances < 1e-12, 0.0, distances)  # equal shares, rounded
    return float(np.average(distances, weights=weights)), float(distances.max())


def summarise_unfairness(matrix: ArrayLike) -> dict[str, float]:
    """Means and maxima over targets (rows) and sensitive factors (columns), the diagonal left out.

    >>> found = summarise_unfairness([[0, 2, 4], [4, 0, 8], [2, 10, 0]])
    >>> found["mean"], found["max_of_means"], found["max"]
    (5.0, 6.0, 10.0)
    """
    table = np.asarray(matrix, dtype=np.float64)
    off = table[~np.eye(len(table), dtype=bool)].reshape(len(table), -1)
    return {
        "mean": float(off.mean()),
        "mean_of_maxima": float(off.max(axis=1).mean()),
        "max_of_means": float(off.mean(axis=1).max()),
        "max": float(off.max()),
    }


def _score(
    codes: Rows,
    *,
    learnt: np.ndarray,
    judged: np.ndarray,
    space: Space,
    rows: int,
    threads: int,
    seed: int,
) -> Score:
    n, factors = len(learnt), len(space.sizes)
    seen, asked = codes[:n], codes[n : n + len(judged)]
    moved = codes[n + len(judged) : n + len(judged) + rows * sum(space.sizes)]
    ends = np.cumsum(space.sizes) * rows
    mean, largest, chance = np.zeros((3, factors, factors))
    accuracy = np.empty(factors)
    dealing = generator(seed)
    for target in range(factors):
        model = fit_booster(seen, learnt[:, target], seed=seed, threads=threads)
        accuracy[target] = np.mean(model.predict(asked) == judged[:, target])
        guesses = np.searchsorted(model.classes, model.predict(moved))
        for sensitive, size in enumerate(space.sizes):
            if sensitive == target:
                continue
            own = guesses[ends[sensitive] - size * rows : ends[sensitive]].reshape(size, rows)
            mean[target, sensitive], largest[target, sensitive] = total_variation(_counts(own, len(model.classes)))
            dealt = dealing.permutation(own.ravel()).reshape(size, rows)
            chance[target, sensitive] = total_variation(_counts(dealt, len(model.classes)))[0]
    summaries = {"of_means": summarise_unfairness(mean), "of_maxima": summarise_unfairness(largest)}
    return Score(
        "unfairness",
        summaries["of_means"]["mean"],
        parts={
            "matrix": mean,
            "largest": largest,
            "summaries": summaries,
            "accuracy": float(accuracy.mean()),
            "accuracy_per_factor": accuracy,
            "by_chance": summarise_unfairness(chance)["mean"],
        },
        settings={
            "estimator": "gradient-boosted trees, 100 stages of depth 3, exact splits",
            "rows": rows,
            "train": n,
            "test": len(judged),
            "seed": check_seed(seed),
        },
    )


def _counts(guesses: np.ndarray, labels: int) -> np.ndarray:
    """How often each label was predicted for each value: ``[values, labels]``."""
    return np.stack([np.bincount(own, minlength=labels) for own in guesses])

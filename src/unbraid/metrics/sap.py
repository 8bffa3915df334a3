"""Separated attribute predictability (Kumar, Sattigeri & Balakrishnan, 2018)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from unbraid.metrics._discrete import relabel, top_two
from unbraid.metrics._kinds import correlations, never_alone, perfect_code, standardize
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._remember import remembered
from unbraid.metrics._score import Sample, Score, check_arrays, check_kinds, check_seed, split
from unbraid.metrics._svm import Feature, predict

__all__ = ["accuracies", "sap"]


@register("sap", range=UNIT, title="SAP", about="gap between the two codes that best predict a factor")
def sap(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    test: tuple[ArrayLike, ArrayLike] | None = None,
    continuous: bool = False,
    c: float = 0.01,
    rescale: bool = False,
    kinds: Sequence[str] | None = None,
    seed: int = 0,
) -> Score:
    """Mean over factors of the gap between the two codes that predict it best, each on its own.

    By default (the study's) prediction is the test accuracy of a linear support vector machine on the one code
    (squared hinge, one against the rest, balanced classes). ``continuous=True`` uses the squared correlation on the
    given samples instead, in the form that ``kinds`` asks for, and needs no test set.

    Flaws: one against the rest on a line can only pick out the two extreme values of a factor, so a perfect code
    gets about 0.25 on dSprites and 0.5 on two values; see ``Score.ceiling``. The penalty makes the accuracy depend
    on a code's scale; ``rescale=True`` standardises the codes first. C belongs to the study's 10,000 training samples:
    with 3,000 and fewer a perfect code gets 0.18 on dSprites. A constant code predicts one class, and a single code is
    compared with a constant one.
    """
    codes, factors = check_arrays(codes, factors)
    d, known = codes.shape[1], check_kinds(kinds, factors)
    if continuous:
        table = correlations(codes, factors, known) ** 2
        best = correlations(perfect_code(factors, known), factors, known) ** 2
        counts = {"samples": len(codes)}
    else:
        train, held_out = split(codes, factors, test=test, seed=seed)
        table = accuracies(train, held_out, c, rescale)
        n = len(train[0])
        ideal = perfect_code(np.concatenate([train[1], held_out[1]]))
        best = accuracies((ideal[:n], train[1]), (ideal[n:], held_out[1]), c, False)
        counts = {"train": n, "test": len(held_out[0])}
    top, second = top_two(table)
    return Score(
        "sap",
        float((top - second).mean()),
        float(np.subtract(*top_two(best)).mean()),
        {"per_factor": top - second, "scores": table[:d]},
        {
            "estimator": "squared correlation" if continuous else "one-feature linear SVM",
            "continuous": continuous,
            "c": c,
            "rescale": rescale,
            "kinds": list(kinds) if kinds is not None else None,
            **counts,
            "seed": check_seed(seed),
        },
    )


@remembered()
def accuracies(train: Sample, test: Sample, c: float, rescale: bool) -> np.ndarray:
    """Test accuracy of each factor from each code: ``[max(d, 2), K]``."""
    codes, held_out = never_alone(train[0]), never_alone(test[0])
    if rescale:
        codes, held_out = standardize(codes), standardize(held_out, like=codes)
    labels, _ = relabel(train[1])
    values = [np.unique(column) for column in train[1].T]
    table = np.empty((codes.shape[1], labels.shape[1]))
    for j in range(codes.shape[1]):
        feature = Feature(codes[:, j])
        for k in range(labels.shape[1]):
            lines = feature.fit(labels[:, k], len(values[k]), c)
            table[j, k] = (values[k][predict(lines, held_out[:, j])] == test[1][:, k]).mean()
    return table

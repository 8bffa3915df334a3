"""Every matrix by every aggregation, independent groups and the merge tree (Locatello et al., 2020)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unbraid.metrics._discrete import code_information, entropy, relabel, top_two
from unbraid.metrics._merging import entanglement_of, groups_of, merges_of
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Score, check_seed, split
from unbraid.metrics.dci import dci, dci_of
from unbraid.metrics.mig import gaps_of
from unbraid.metrics.modularity import modularity_of
from unbraid.metrics.sap import accuracies

__all__ = ["AGGREGATIONS", "MATRICES", "aggregate", "unified"]

MATRICES = {
    "importance": "importance (boosted trees)",
    "information": "information (nats)",
    "accuracy": "accuracy (one code, linear SVM)",
}
"""How the relation of every code with every factor is measured: that of DCI, of MIG and modularity, of SAP."""

AGGREGATIONS: dict[str, tuple[str, Callable[[np.ndarray, np.ndarray], float]]] = {
    "dci_d": ("DCI D", lambda matrix, _: dci_of(matrix)[0]),
    "dci_c": ("DCI C", lambda matrix, _: dci_of(matrix)[1]),
    "mig": ("MIG", lambda matrix, entropies: float(gaps_of(matrix, entropies).mean())),
    "sap": ("SAP", lambda matrix, _: float(np.subtract(*top_two(matrix)).mean())),
    "modularity": ("modularity", lambda matrix, _: modularity_of(matrix)),
}
"""What is made of a matrix: title, and a function of the matrix and the factors' entropies in nats."""


@register(
    "unified",
    range=UNIT,
    title="Independent groups",
    about="every matrix by every aggregation, and which factors share codes",
    parts={
        f"{matrix}_{name}": f"{title} of {matrix}" for matrix in MATRICES for name, (title, _) in AGGREGATIONS.items()
    },
    usual=False,
)
def unified(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    test: tuple[ArrayLike, ArrayLike] | None = None,
    bins: int = 20,
    c: float = 0.01,
    threads: int = 1,
    seed: int = 0,
) -> Score:
    """Fifteen scores: three matrices ``[d, K]`` by five aggregations, and what each matrix says of groups of factors.

    A score is a matrix and what is made of it; crossing both shows where two scores disagree. Five of the fifteen are
    DCI's D and C, MIG, modularity and SAP, to the bit (``parts["importance_dci_d"]`` and so on). ``mig`` divides by
    the factors' entropies whatever the matrix is, as published.

    The **value** is about independent groups: with the entries from a threshold on as edges between codes and factors,
    how many components are there? The area under this number over the threshold, for the ``importance`` divided by its
    largest entry, per factor: 1 where every factor has codes of its own, 1/K where all are one tangle. ``parts`` has,
    for every matrix, ``thresholds``, ``groups``, ``discovered`` factors, ``area`` (of the matrix as it is, and
    ``area_scaled``), the ``most`` groups, ``entanglement`` ``[K, K]`` (the threshold at which two factors merge) and
    ``merges``. An accuracy never falls below chance, so its groups are those of the excess over 1/values.

    A perfect code's importances come near 1, as with DCI, since trees now and then split on a code by chance.
    """
    train, held_out = split(codes, factors, test=test, seed=seed)
    _, sizes = relabel(train[1])
    boosted = dci(*train, test=held_out, threads=threads, seed=seed)
    accuracy = accuracies(train, held_out, c, False)
    matrices = {
        "importance": boosted.parts["importance"],
        "information": code_information(*train, bins),
        "accuracy": accuracy,
    }
    entropies = entropy(train[1])
    parts: dict[str, Any] = {}
    for name, matrix in matrices.items():
        parts |= {f"{name}_{key}": value for key, value in aggregate(matrix, entropies).items()}
    matrices["accuracy"] = accuracy[: train[0].shape[1]]  # a single code was compared with a constant one
    for name, matrix in matrices.items():
        parts[name] = matrix
        parts[f"{name}_merging"] = _merging(np.maximum(matrix - 1 / sizes, 0) if name == "accuracy" else matrix)
    return Score(
        "unified",
        float(parts["importance_merging"]["area_scaled"]) / len(sizes),
        1.0,
        parts,
        {
            "estimators": {"importance": boosted.settings["estimator"], "accuracy": "one-feature linear SVM"},
            "bins": bins,
            "c": c,
            "train": len(train[0]),
            "test": len(held_out[0]),
            "seed": check_seed(seed),
        },
    )


def aggregate(matrix: ArrayLike, entropies: ArrayLike) -> dict[str, float]:
    """All aggregations of a matrix ``[d, K]``; ``entropies`` are those of the factors, in nats.

    >>> found = aggregate(np.vstack([np.eye(5), np.eye(5)]), np.ones(5))
    >>> found["mig"], found["sap"], found["modularity"]
    (0.0, 0.0, 1.0)
    """
    table, nats = np.asarray(matrix, dtype=np.float64), np.asarray(entropies, dtype=np.float64)
    return {name: float(function(table, nats)) for name, (_, function) in AGGREGATIONS.items()}


def _merging(matrix: np.ndarray) -> dict[str, Any]:
    found, strength = groups_of(matrix), entanglement_of(matrix)
    largest = matrix.max()
    return {
        "thresholds": found.thresholds,
        "groups": found.groups,
        "discovered": found.discovered,
        "area": found.area,
        "area_scaled": float(found.area / largest) if largest > 0 else 0.0,
        "most": found.most,
        "entanglement": strength,
        "merges": [[height, list(left), list(right)] for height, left, right in merges_of(strength)],
    }

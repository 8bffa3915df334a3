"""How far one graph is from another: structural Hamming distance of adjacency matrices."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError
from unbraid.metrics._kinds import ranks
from unbraid.metrics._score import Score

__all__ = ["shd"]


def shd(
    estimated: ArrayLike,
    truth: ArrayLike,
    *,
    threshold: float = 0.3,
    reversed_edge: int = 2,
    code_of_factor: Sequence[int] | None = None,
) -> Score:
    """Number of edges that are wrong: missing, too many, or reversed; 0 is best.

    Matrices are ``[K, K]``, entry ``ij`` the edge from i to j; those of ``estimated`` count where they exceed
    ``threshold`` in absolute value, those of ``truth`` where they are not 0. A reversed edge is one missing and one too
    many, 2; with ``reversed_edge=1`` it is one mistake. ``code_of_factor`` says which row of the estimate stands for
    which true variable, such as ``mcc(codes, factors).parts["code_of_factor"]``.

    ``parts["auroc"]`` needs no threshold: how often a true edge has the larger weight of two entries, one with and one
    without an edge (ties half); 0.5 if there are no such two. A threshold that is chosen with the truth in hand
    flatters; none is chosen here. The diagonal does not count, and neither matrix is changed.

    >>> chain = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> float(shd([[0, 0.9, 0], [0, 0, 0], [0, -0.8, 0]], chain))  # the second edge is reversed
    2.0
    """
    weights, edges = _square(estimated, "estimated"), _square(truth, "truth") != 0
    if reversed_edge not in (1, 2):
        raise UsageError(f"reversed_edge must be 1 or 2, got {reversed_edge!r}")
    if not threshold >= 0:
        raise UsageError(f"threshold must not be negative, got {threshold!r}")
    if code_of_factor is not None:
        order = np.asarray(code_of_factor)
        if order.shape != (len(edges),) or len(set(order.tolist())) < len(order) or not _within(order, len(weights)):
            raise UsageError(
                f"code_of_factor must name a different row of estimated (0 to {len(weights) - 1}) for each of the "
                f"{len(edges)} variables, got {code_of_factor!r}"
            )
        weights = weights[np.ix_(order, order)]
    if weights.shape != edges.shape:
        raise UsageError(
            f"estimated is {list(weights.shape)}, truth {list(edges.shape)}; code_of_factor picks the variables that "
            "count"
        )
    off = ~np.eye(len(edges), dtype=bool)
    weights = np.abs(weights)
    found = (weights > threshold) & off
    edges = edges & off
    turned = found & ~edges & edges.T & ~found.T
    wrong = int((found != edges).sum()) - (2 - reversed_edge) * int(turned.sum())
    return Score(
        "shd",
        float(wrong),
        0.0,
        {
            "missing": int((edges & ~found).sum()),
            "unexpected": int((found & ~edges).sum()),
            "reversed": int(turned.sum()),
            "auroc": _auroc(weights[off], edges[off]),
            "found": found,
        },
        {"threshold": threshold, "reversed_edge": reversed_edge, "edges": int(edges.sum())},
    )


def _square(given: ArrayLike, name: str) -> np.ndarray:
    matrix = np.array(given, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise UsageError(f"{name} must be a square matrix [K, K], got shape {list(matrix.shape)}")
    if not np.isfinite(matrix).all():
        raise UsageError(f"{name} holds NaN or infinite entries")
    return matrix


def _within(order: np.ndarray, size: int) -> bool:
    return order.dtype.kind in "iu" and bool((order >= 0).all() and (order < size).all())


def _auroc(weights: np.ndarray, edges: np.ndarray) -> float:
    """Area under the curve of true against false positives, by ranks."""
    with_edge, without = int(edges.sum()), int((~edges).sum())
    if not with_edge or not without:
        return 0.5
    total = ranks(weights[:, None])[edges, 0].sum()
    lowest = with_edge * (with_edge + 1) / 2
    return float((total - lowest) / (with_edge * without))

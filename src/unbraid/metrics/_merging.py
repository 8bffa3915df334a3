"""Which factors share codes: independent groups over a threshold, and the tree in which factors merge."""

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError

__all__ = ["Groups", "check_matrix", "entanglement_of", "groups_of", "merges_of"]


class Groups:
    """Independent groups of a matrix ``[d, K]`` as its threshold falls; see :func:`groups_of`."""

    def __init__(self, thresholds: np.ndarray, groups: np.ndarray, discovered: np.ndarray) -> None:
        self.thresholds, self.groups, self.discovered = thresholds, groups, discovered

    @property
    def area(self) -> float:
        """The integral of the number of groups over the threshold; between two entries of the matrix it is constant.

        Trapezoids, as in the published code, would let an entry of 1e-17 cost half a group from there to the next.
        """
        return float(-(self.groups[:-1] * np.diff(self.thresholds)).sum())

    @property
    def most(self) -> int:
        """The largest number of groups at any threshold."""
        return int(self.groups.max())


def groups_of(matrix: ArrayLike) -> Groups:
    """Components of the graph between codes and factors whose edges are the entries from a threshold on.

    The thresholds are the matrix's entries, falling, and 0; an entry of 0 is no edge. A group is a component with an
    edge: codes and factors that cannot be told apart at this strength. A factor is discovered once it has an edge.

    >>> found = groups_of([[0.9, 0.1], [0.2, 0.8], [0, 0.3]])
    >>> found.groups.tolist(), found.discovered.tolist(), round(found.area, 12), found.most
    ([1, 2, 2, 1, 1, 1], [1, 2, 2, 2, 2, 2], 1.5, 2)
    """
    table = check_matrix(matrix)
    d, factors = table.shape
    thresholds = np.unique(np.append(table, 0.0))[::-1]
    union = _Union(d + factors)
    groups, discovered, there = np.zeros((2, len(thresholds)), dtype=np.int64), set(), 0
    edges = _edges(table)
    position = 0
    for step, threshold in enumerate(thresholds):
        while position < len(edges) and table[edges[position]] >= threshold:
            code, factor = edges[position]
            ends = (union.members(code), union.members(d + factor))
            if ends[0] is not ends[1]:
                # A node alone is no group: two of them make one, one joins a group, two groups become one.
                there += 1 - sum(len(end) > 1 for end in ends)
                union.join(code, d + factor)
            discovered.add(factor)
            position += 1
        groups[:, step] = there, len(discovered)
    return Groups(thresholds, groups[0], groups[1])


def entanglement_of(matrix: ArrayLike) -> np.ndarray:
    """For every two factors the largest threshold at which they share a group: ``[K, K]``, 0 where they never do.

    It is the smallest entry on the path between them in the maximum spanning tree. On the diagonal stands the
    threshold at which a factor is discovered. It obeys ``e_ac >= min(e_ab, e_bc)``: factors merge in a tree.

    >>> entanglement_of([[0.9, 0.1], [0.2, 0.8], [0, 0.3]])
    array([[0.9, 0.2],
           [0.2, 0.8]])
    """
    table = check_matrix(matrix)
    d, factors = table.shape
    strength = np.diag(table.max(axis=0))
    union = _Union(d + factors)
    for code, factor in _edges(table):
        left, right = union.members(code), union.members(d + factor)
        if left is right:
            continue
        for a in (node - d for node in left if node >= d):
            for b in (node - d for node in right if node >= d):
                strength[a, b] = strength[b, a] = table[code, factor]
        union.join(code, d + factor)
    return strength


def merges_of(entanglement: ArrayLike) -> list[tuple[float, tuple[int, ...], tuple[int, ...]]]:
    """The tree in which factors merge: threshold and the two sets that become one, strongest first.

    >>> merges_of([[0.9, 0.2], [0.2, 0.8]])
    [(0.2, (0,), (1,))]
    """
    strength = np.asarray(entanglement, dtype=np.float64)
    union = _Union(len(strength))
    pairs = [(a, b) for a in range(len(strength)) for b in range(a + 1, len(strength)) if strength[a, b] > 0]
    found = []
    for a, b in sorted(pairs, key=lambda pair: -strength[pair]):
        left, right = union.members(a), union.members(b)
        if left is not right:
            first, second = sorted((tuple(sorted(left)), tuple(sorted(right))))
            found.append((float(strength[a, b]), first, second))
            union.join(a, b)
    return found


class _Union:
    """Sets that are joined; the smaller one moves."""

    def __init__(self, nodes: int) -> None:
        self._sets = [{node} for node in range(nodes)]

    def members(self, node: int) -> set[int]:
        return self._sets[node]

    def join(self, a: int, b: int) -> None:
        small, large = sorted((self._sets[a], self._sets[b]), key=len)
        if small is large:
            return
        large |= small
        for node in small:
            self._sets[node] = large


def _edges(table: np.ndarray) -> list[tuple[int, int]]:
    """Positions of the positive entries, largest first."""
    order = np.argsort(-table, axis=None, kind="stable")
    order = order[table.ravel()[order] > 0]
    return [(int(code), int(factor)) for code, factor in zip(*np.unravel_index(order, table.shape), strict=True)]


def check_matrix(matrix: ArrayLike) -> np.ndarray:
    """What codes mean for factors, ``[d, K]``, as finite numbers from 0 on."""
    table = np.asarray(matrix, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape or not np.isfinite(table).all() or (table < 0).any():
        raise UsageError(f"matrix must be [codes, factors] of finite numbers from 0 on, got shape {table.shape}")
    return table

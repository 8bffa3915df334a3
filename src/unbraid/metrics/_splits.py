"""Compiled search for the best split of a node: exact, but without looking at every sample.

The samples of every code are sorted once and cut into blocks of consecutive values. A node needs, per block, only three
numbers: how many of its samples fall there, how far their residuals rise in total and how far they fall. The gain of a
split, ``(s - n m)^2 (1/n + 1/(N - n))`` with ``s`` the residual sum of the ``n`` samples on the left and ``m`` the mean
of all ``N``, is convex in ``(n, s)``, so inside a block it is bounded by its values at the corners of the box that the
running sum cannot leave. Blocks whose bound stays below a gain already reached are skipped, the rest are walked sample
by sample: the split found is the one of an exhaustive search.

This module imports numba: import it where it is needed, not at the top of a public module.
"""

from typing import Any

import numpy as np
from numba import njit

__all__ = ["Array", "Blocks", "Scratch", "best_split", "cut_blocks", "jit", "jit_sums", "shuffle"]

SAME = np.float32(1e-7)  # values closer than this count as equal, as in scikit-learn's splitter
TIE = 1e-10  # gains that differ by less, relatively, are one gain computed in two orders
SLACK = 1e-9  # rounding allowance on the bound of a block

Array = np.ndarray[Any, Any]
Blocks = tuple[Array, Array, Array, Array, Array]
"""``(first, begin, end, open, block)`` of :func:`cut_blocks`."""
Scratch = tuple[Array, Array, Array, Array, Array, Array, Array]
"""Per block: bound, gain at its left border, count, count and sum before it, highest and lowest sum inside."""

jit = njit(cache=True, nogil=True, error_model="numpy")
jit_sums = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nnan", "nsz", "contract"})


@jit
def cut_blocks(ranked: Array, order: Array, width: int) -> Blocks:
    """Cut each sorted code ``ranked[f]`` into blocks of at least ``width`` samples that end only at distinct values.

    Returns ``(first, begin, end, open, block)``: blocks of code f are ``first[f]:first[f + 1]``, block b holds ranks
    ``begin[b]:end[b]``, ``open[b]`` is 1 where a split inside it is possible, ``block[i, f]`` is sample i's block.
    """
    d, n = ranked.shape
    most = d * (n // width + 1)
    first = np.zeros(d + 1, np.int64)
    begin = np.empty(most, np.int64)
    end = np.empty(most, np.int64)
    opened = np.empty(most)
    block = np.empty((n, d), np.uint32)
    b = 0
    for f in range(d):
        begin[b] = 0
        for j in range(n):
            if j - begin[b] >= width and ranked[f, j] > ranked[f, j - 1] + SAME:
                end[b] = j
                b += 1
                begin[b] = j
            block[order[f, j], f] = b
        end[b] = n
        b += 1
        first[f + 1] = b
    for f in range(d):
        for c in range(first[f], first[f + 1]):
            opened[c] = ranked[f, end[c] - 1] > ranked[f, begin[c]] + SAME
    return first, begin[:b].copy(), end[:b].copy(), opened[:b].copy(), block


@jit
def shuffle(items: Array, key: int) -> None:
    """Put 0..d-1 into an order that only ``key`` determines (splitmix64)."""
    state = np.uint64(key)
    for f in range(items.size):
        items[f] = f
    for f in range(items.size - 1, 0, -1):
        state += np.uint64(0x9E3779B97F4A7C15)
        z = state
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        other = int(z % np.uint64(f + 1))
        items[f], items[other] = items[other], items[f]


@jit_sums
def _bounds(size: int, total: float, hist: Array, blocks: Blocks, scratch: Scratch) -> float:
    """Bound the gain inside every block of a node; returns the best gain at a border between blocks."""
    first, _, _, opened, _ = blocks
    reach, border, count, count_before, sum_before, high, low = scratch
    for f in range(first.size - 1):
        n = 0.0
        s = 0.0
        for b in range(first[f], first[f + 1]):
            count[b] = hist[b, 0]
            count_before[b] = n
            sum_before[b] = s
            high[b] = s + hist[b, 1]
            low[b] = s - hist[b, 2]
            n += hist[b, 0]
            s += hist[b, 1] - hist[b, 2]
    mean = total / size
    for b in range(reach.size):  # free of branches, so that it runs on vectors
        before = max(count_before[b], 1.0)
        after = min(count_before[b] + count[b], size - 1.0)
        weight_before = size / (before * max(size - before, 1.0))
        weight_after = size / (max(after, 1.0) * (size - after))
        gap = sum_before[b] - count_before[b] * mean
        gain_at_border = gap * gap * weight_before
        gap_before = max(high[b] - before * mean, before * mean - low[b])
        gap_after = max(high[b] - after * mean, after * mean - low[b])
        inside = max(gap_before * gap_before * weight_before, gap_after * gap_after * weight_after)
        bound = inside if count[b] * opened[b] > 1.0 else gain_at_border
        border[b] = gain_at_border
        reach[b] = bound if count[b] > 0.0 else -1.0
    known = 0.0
    for b in range(reach.size):
        known = border[b] if border[b] > known else known
    return known


@jit
def best_split(
    node: int,
    size: int,
    total: float,
    hist: Array,
    blocks: Blocks,
    ranked: Array,
    order: Array,
    member: Array,
    residual: Array,
    inverse: Array,
    features: Array,
    scratch: Scratch,
) -> tuple[float, int, float]:
    """The gain, code and threshold of the best split of a node; a gain of -1 if all its samples are alike."""
    known = _bounds(size, total, hist, blocks, scratch)
    first, begin, end, _, _ = blocks
    reach, _, _, count_before, sum_before, _, _ = scratch
    mean = total / size
    best = -1.0
    feature = 0
    rank = 0
    for f in features:
        for b in range(first[f], first[f + 1]):
            if reach[b] < known * (1.0 - SLACK):
                continue
            n = int(count_before[b])
            s = sum_before[b]
            last = np.float32(-np.inf)
            for j in range(begin[b], end[b]):
                i = order[f, j]
                if member[i] != node:
                    continue
                value = ranked[f, j]
                if n > 0 and value > last + SAME:
                    gap = s - n * mean
                    gain = gap * gap * (inverse[n] + inverse[size - n])
                    if gain > best * (1.0 + TIE):
                        best = gain
                        feature = f
                        rank = j
                        known = max(known, best)
                s += residual[i]
                n += 1
                last = value
    threshold = np.inf
    if best >= 0.0:
        below = rank - 1
        while member[order[feature, below]] != node:
            below -= 1
        threshold = ranked[feature, below] / 2.0 + ranked[feature, rank] / 2.0
    return best, feature, threshold

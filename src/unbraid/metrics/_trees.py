"""Compiled kernels of the exact booster: split search, tree growth, prediction.

The samples of every code are sorted once and cut into blocks of consecutive values. A node needs, per block, only three
numbers: how many of its samples fall there, how far their residuals rise in total and how far they fall. The gain of a
split, ``(s - n m)^2 (1/n + 1/(N - n))`` with ``s`` the residual sum of the ``n`` samples on the left, is convex in
``(n, s)``, so its values inside a block are bounded by those at the corners of the box that the block's path cannot
leave. Blocks whose bound stays below a gain already reached are skipped; the rest are walked sample by sample. The split
found is therefore the one of an exhaustive search, ties included.

This module imports numba: import it where it is needed, not at the top of a public module.
"""

import math
from typing import Any

import numpy as np
from numba import njit

__all__ = ["LANES", "cut_blocks", "grow_trees", "normalise", "raw_scores"]

LANES = 8
"""Classes whose root histograms are filled together, one vector register wide."""

SAME = np.float32(1e-7)  # values closer than this count as equal, as in scikit-learn's splitter
PURE = float(np.finfo(np.float64).eps)  # nodes with less variance than this are not split, as in scikit-learn
TIE = 1e-10  # gains that differ by less, relatively, are one gain computed in two orders
SLACK = 1e-9  # rounding allowance on the bound of a block

Array = np.ndarray[Any, Any]

jit = njit(cache=True, nogil=True, error_model="numpy")
jit_sums = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz", "contract"})


@jit
def cut_blocks(ranked: Array, order: Array, width: int) -> tuple[Array, Array, Array, Array, Array]:
    """Cut each sorted code ``ranked[f]`` into blocks of at least ``width`` samples that end only at distinct values.

    Returns ``(first, begin, end, open, block)``: blocks of code f are ``first[f]:first[f + 1]``, block b holds the ranks
    ``begin[b]:end[b]``, ``open[b]`` says whether a split inside it is possible, ``block[i, f]`` is sample i's block.
    """
    d, n = ranked.shape
    most = d * (n // width + 1)
    first = np.zeros(d + 1, np.int64)
    begin = np.empty(most, np.int32)
    end = np.empty(most, np.int32)
    opened = np.empty(most, np.bool_)
    block = np.empty((n, d), np.int32)
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
def _shuffle(items: Array, key: int) -> None:
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


@jit
def _best_split(
    node: int,
    size: int,
    total: float,
    hist: Array,
    blocks: tuple[Array, Array, Array, Array, Array],
    ranked: Array,
    order: Array,
    member: Array,
    residual: Array,
    inverse: Array,
    features: Array,
    scratch: tuple[Array, Array, Array],
) -> tuple[float, int, float]:
    """The gain, code and threshold of the best split of a node; a gain of -1 if all its samples are alike."""
    first, begin, end, opened, _ = blocks
    reach, count_before, sum_before = scratch
    mean = total / size
    known = 0.0
    for f in range(first.size - 1):
        n = 0
        s = 0.0
        for b in range(first[f], first[f + 1]):
            count = int(hist[b, 0])
            reach[b] = -1.0
            if count == 0:
                continue
            count_before[b] = n
            sum_before[b] = s
            bound = -1.0
            if n > 0:
                gap = s - n * mean
                bound = gap * gap * (inverse[n] + inverse[size - n])
                known = max(known, bound)
            if count > 1 and opened[b]:
                high = s + hist[b, 1]
                low = s - hist[b, 2]
                n_first = n + 1
                n_last = n + count - 1
                gap = max(high - n_first * mean, n_first * mean - low)
                bound = max(bound, gap * gap * (inverse[n_first] + inverse[size - n_first]))
                gap = max(high - n_last * mean, n_last * mean - low)
                bound = max(bound, gap * gap * (inverse[n_last] + inverse[size - n_last]))
            reach[b] = bound
            n += count
            s += hist[b, 1] - hist[b, 2]

    best = -1.0
    feature = 0
    rank = 0
    for f in features:
        for b in range(first[f], first[f + 1]):
            if reach[b] < known * (1.0 - SLACK):
                continue
            n = count_before[b]
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


@jit_sums
def _moments(samples: Array, residual: Array) -> tuple[float, float, float]:
    """Sums of the residuals, of their squares and of the curvature p (1 - p) = |r| (1 - |r|)."""
    total = 0.0
    square = 0.0
    curvature = 0.0
    for t in range(samples.size):
        r = residual[samples[t]]
        total += r
        square += r * r
        curvature += abs(r) * (1.0 - abs(r))
    return total, square, curvature


@jit
def _partition(samples: Array, column: Array, threshold: float, spare: Array, member: Array, child: int) -> int:
    """Move the samples at or below the threshold to the front, both sides in order; returns how many they are."""
    left = 0
    right = 0
    for t in range(samples.size):
        i = samples[t]
        above = int(column[i] > threshold)
        samples[left] = i
        spare[right] = i
        member[i] = child + above
        left += 1 - above
        right += above
    samples[left:] = spare[:right]
    return left


@jit
def _fill(hist: Array, samples: Array, residual: Array, block: Array) -> None:
    """Count, rise and fall of the residuals of ``samples`` per block."""
    hist[:] = 0.0
    for t in range(samples.size):
        i = samples[t]
        r = residual[i]
        rise = max(r, 0.0)
        fall = max(-r, 0.0)
        for f in range(block.shape[1]):
            b = block[i, f]
            hist[b, 0] += 1.0
            hist[b, 1] += rise
            hist[b, 2] += fall


@jit
def _root_histograms(chances: Array, block: Array, sums: Array) -> None:
    """Sum the probabilities of up to LANES classes per block, all classes at once."""
    sums[:] = 0.0
    row = np.zeros(LANES)
    for i in range(block.shape[0]):
        for lane in range(chances.shape[0]):
            row[lane] = chances[lane, i]
        for f in range(block.shape[1]):
            b = block[i, f]
            for lane in range(LANES):
                sums[b, lane] += row[lane]


@jit
def grow_trees(
    stage: int,
    low: int,
    high: int,
    labels: Array,
    chances: Array,
    scores: Array,
    values: Array,
    ranked: Array,
    order: Array,
    blocks: tuple[Array, Array, Array, Array, Array],
    inverse: Array,
    rate: float,
    factor: float,
    key: int,
    tree_code: Array,
    tree_cut: Array,
    tree_leaf: Array,
    gains: Array,
) -> None:
    """Grow the trees of classes ``low:high`` (at most LANES) of one stage and take their step.

    ``chances`` [classes, n] are multiplied by the exponential of the step and must be normalised afterwards; ``scores``
    are the logarithms they come from.
    """
    d, n = values.shape
    inner = tree_code.shape[2]
    depth = int(round(math.log2(inner + 1)))
    first, begin, end, _, block = blocks
    bins = begin.size
    sums = np.empty((bins, LANES))
    _root_histograms(chances[low:high], block, sums)
    hist = np.empty((max(inner // 2 + 1, 1), bins, 4))
    scratch = (np.empty(bins), np.empty(bins, np.int64), np.empty(bins))
    residual = np.empty(n)
    samples = np.empty(n, np.int32)
    spare = np.empty(n, np.int32)
    member = np.empty(n, np.uint8)
    features = np.empty(d, np.int64)
    nodes = 2 * inner + 1
    start = np.zeros(nodes, np.int64)
    stop = np.zeros(nodes, np.int64)
    slot = np.zeros(nodes, np.int64)
    total = np.zeros(nodes)
    square = np.zeros(nodes)
    curvature = np.zeros(nodes)
    step = np.zeros(nodes)
    growth = np.ones(nodes)

    for k in range(low, high):
        for b in range(bins):
            hist[0, b, 0] = end[b] - begin[b]
            hist[0, b, 1] = 0.0
            hist[0, b, 2] = sums[b, k - low]
        for i in range(n):
            samples[i] = i
            member[i] = 0
            p = chances[k, i]
            if labels[i] == k:
                residual[i] = 1.0 - p
                for f in range(d):
                    b = block[i, f]
                    hist[0, b, 1] += 1.0 - p
                    hist[0, b, 2] -= p
            else:
                residual[i] = -p
        stop[:] = 0
        start[:] = 0
        stop[0] = n
        slot[0] = 0
        total[0], square[0], curvature[0] = _moments(samples, residual)
        used = 1
        level = 0
        for node in range(nodes):
            if node + 1 >= 2 << level:
                level += 1
            size = stop[node] - start[node]
            if size == 0:
                continue
            mean = total[node] / size
            if level < depth and size > 1 and square[node] / size - mean * mean > PURE:
                _shuffle(features, key + (stage * chances.shape[0] + k) * nodes + node)
                gain, feature, cut = _best_split(
                    node, size, total[node], hist[slot[node]], blocks, ranked, order, member, residual, inverse,
                    features, scratch,
                )  # fmt: skip
                if gain >= 0.0:
                    tree_code[stage, k, node] = feature
                    tree_cut[stage, k, node] = cut
                    gains[k, feature] += gain
                    a, z = start[node], stop[node]
                    left = 2 * node + 1
                    m = a + _partition(samples[a:z], values[feature], cut, spare, member, left)
                    start[left], stop[left] = a, m
                    start[left + 1], stop[left + 1] = m, z
                    for child in (left, left + 1):
                        part = samples[start[child] : stop[child]]
                        total[child], square[child], curvature[child] = _moments(part, residual)
                    if level + 1 < depth:
                        # Only the smaller child is counted; the larger one is what is left of the parent.
                        small = left if m - a <= z - m else left + 1
                        large = 2 * left + 1 - small
                        slot[small] = used
                        slot[large] = slot[node]
                        used += 1
                        _fill(hist[slot[small]], samples[start[small] : stop[small]], residual, block)
                        hist[slot[large]] -= hist[slot[small]]
                    continue
            # A leaf: one Newton step, passed down to the leftmost place below it so that all trees are complete.
            value = 0.0
            if abs(curvature[node]) / size >= 1e-150:
                value = factor * total[node] / curvature[node]
            place = node
            for _ in range(depth - level):
                place = 2 * place + 1
            tree_leaf[stage, k, place - inner] = value
            step[node] = rate * value
            growth[node] = math.exp(min(step[node], 700.0)) if step[node] < 700.0 else np.inf
        for i in range(n):
            scores[k, i] += step[member[i]]
            chances[k, i] *= growth[member[i]]


@jit
def normalise(chances: Array, scores: Array, low: int, high: int) -> None:
    """Turn the grown ``chances`` of samples ``low:high`` back into probabilities.

    The running product is exact to rounding as long as nothing leaves the range of a double; where something does, the
    probabilities are computed anew from the scores.
    """
    classes = chances.shape[0]
    if classes == 1:
        for i in range(low, high):
            chances[0, i] = 1.0 / (1.0 + math.exp(-scores[0, i]))
        return
    width = 256
    sums = np.empty(width)
    least = np.empty(width)
    for a in range(low, high, width):
        m = min(width, high - a)
        sums[:] = 0.0
        least[:] = 1.0
        for k in range(classes):
            for j in range(m):
                x = chances[k, a + j]
                sums[j] += x
                least[j] = x if x < least[j] else least[j]
        for j in range(m):
            if not (least[j] > 1e-250 and sums[j] < 1e250):
                top = scores[:, a + j].max()
                sums[j] = 0.0
                for k in range(classes):
                    chances[k, a + j] = math.exp(scores[k, a + j] - top)
                    sums[j] += chances[k, a + j]
            sums[j] = 1.0 / sums[j]
        for k in range(classes):
            for j in range(m):
                chances[k, a + j] *= sums[j]


@jit
def raw_scores(values: Array, rate: float, tree_code: Array, tree_cut: Array, tree_leaf: Array, scores: Array) -> None:
    """Add ``rate`` times the leaf that every sample of ``values`` [d, n] falls into, over all trees, to ``scores``."""
    stages, classes, inner = tree_code.shape
    for k in range(classes):
        for stage in range(stages):
            code = tree_code[stage, k]
            cut = tree_cut[stage, k]
            leaf = tree_leaf[stage, k]
            for i in range(values.shape[1]):
                node = 0
                while node < inner:
                    node = 2 * node + 1 + int(values[code[node], i] > cut[node])
                scores[k, i] += rate * leaf[node - inner]

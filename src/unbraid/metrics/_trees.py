"""Compiled growth of the booster's trees, and prediction with them.

This module imports numba: import it where it is needed, not at the top of a public module.
"""

import math

import numpy as np

from unbraid.metrics._splits import Array, Blocks, best_split, jit, jit_sums, shuffle

__all__ = ["LANES", "grow_trees", "normalise", "raw_scores"]

LANES = 16
"""Classes that one call of :func:`grow_trees` works on: their root histograms are filled together, on vectors."""

PURE = float(np.finfo(np.float64).eps)  # nodes with less variance than this are not split, as in scikit-learn


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
        r = abs(residual[i])
        side = 1 if residual[i] > 0.0 else 2
        for f in range(block.shape[1]):
            b = block[i, f]
            hist[b, 0] += 1.0
            hist[b, side] += r


@jit
def _root_histograms(chances: Array, block: Array, sums: Array) -> None:
    """Sum the probabilities of several classes per block, all classes at once."""
    classes, n = chances.shape
    row = np.empty(classes)
    sums[:] = 0.0
    for i in range(n):
        for k in range(classes):
            row[k] = chances[k, i]
        for f in range(block.shape[1]):
            target = sums[block[i, f]]
            for k in range(classes):
                target[k] += row[k]


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
    blocks: Blocks,
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
    depth = round(math.log2(inner + 1))
    _, begin, end, _, block = blocks
    bins = begin.size
    sums = np.empty((bins, high - low))
    _root_histograms(chances[low:high], block, sums)
    hist = np.empty((max(inner // 2 + 1, 1), bins, 3))
    work = np.empty((7, bins))
    scratch = (work[0], work[1], work[2], work[3], work[4], work[5], work[6])
    residual = np.empty(n)
    samples = np.empty(n, np.uint32)
    spare = np.empty(n, np.uint32)
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
                shuffle(features, key + (stage * scores.shape[0] + k) * nodes + node)
                gain, feature, cut = best_split(
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
            growth[node] = math.exp(step[node])
        for i in range(n):
            scores[k, i] += step[member[i]]
            chances[k, i] *= growth[member[i]]


@jit
def normalise(chances: Array, scores: Array, low: int, high: int) -> None:
    """Turn the grown ``chances`` of samples ``low:high`` back into probabilities.

    The running product is exact to rounding as long as nothing leaves the range of a double; where something does, the
    probabilities are computed anew from the scores.
    """
    classes = scores.shape[0]
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

"""Gradient-boosted trees with the defaults of scikit-learn's classifier, exact and compiled."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from unbraid.errors import UsageError
from unbraid.metrics._remember import remembered

__all__ = ["Booster", "fit_booster"]


@dataclass(frozen=True)
class Booster:
    """A fitted classifier: one regression tree per stage and class, or per stage where there are two classes."""

    classes: np.ndarray
    """Labels seen in training, ascending."""
    importances: np.ndarray
    """Share of every code in the total reduction of squared error, adds up to 1; zeros if no tree could split."""
    train_accuracy: float
    """Share of the training samples that the fitted model labels correctly."""
    start: np.ndarray
    """Scores before the first tree: centred logarithms of the class shares (two classes: their log odds)."""
    rate: float
    code: np.ndarray
    """Code that each inner node [stage, class, node] looks at."""
    cut: np.ndarray
    """Threshold of each inner node; at or below goes left, infinity sends everything left."""
    leaf: np.ndarray
    """Value of each leaf [stage, class, leaf] before the learning rate."""

    def decision_function(self, codes: np.ndarray) -> np.ndarray:
        """Raw scores [n, classes]; with two classes [n], the log odds of the second."""
        from unbraid.metrics._trees import raw_scores

        values = _as_columns(codes)
        if values.shape[0] != self.importances.size:
            raise UsageError(f"codes has {values.shape[0]} columns, the booster was fitted on {self.importances.size}")
        scores = np.repeat(self.start[:, None], values.shape[1], axis=1)
        raw_scores(values, self.rate, self.code, self.cut, self.leaf, scores)
        return scores[0] if len(self.start) == 1 else scores.T

    def predict_proba(self, codes: np.ndarray) -> np.ndarray:
        """Probabilities [n, classes]."""
        from scipy.special import expit, softmax

        scores = self.decision_function(codes)
        if len(self.classes) == 1:
            return np.ones((len(scores), 1))
        if scores.ndim == 1:
            second = expit(scores)
            return np.stack([1 - second, second], axis=1)
        return softmax(scores, axis=1)

    def predict(self, codes: np.ndarray) -> np.ndarray:
        """The most likely label of every sample."""
        return self.classes[_decide(self.decision_function(codes), len(self.classes))]


@remembered(ignoring=("threads",))
def fit_booster(
    codes: np.ndarray,
    labels: np.ndarray,
    *,
    stages: int = 100,
    depth: int = 3,
    rate: float = 0.1,
    seed: int = 0,
    threads: int = 1,
) -> Booster:
    """Fit what ``sklearn.ensemble.GradientBoostingClassifier`` fits (Friedman, 2001), many times faster.

    Log loss, all samples and all codes at every node, exact splits on float32 codes, leaves by one Newton step,
    class shares as the start; importances as scikit-learn computes them. Results agree to rounding wherever no two
    splits are equally good; among equals ``seed`` decides, as ``random_state`` does there. Labels with a single value,
    which scikit-learn refuses, give a model that always answers it and has no importances.

    ``threads`` works on several classes at once and changes no result.
    """
    values = _as_columns(codes)
    d, n = values.shape
    labels = np.asarray(labels)
    if labels.shape != (n,):
        raise UsageError(f"labels must have one entry per row of codes: expected shape {(n,)}, got {labels.shape}")
    for name, number in (("stages", stages), ("depth", depth), ("threads", threads)):
        if number < 1:
            raise UsageError(f"{name} must be at least 1, got {number}")
    if depth > 7:
        raise UsageError(f"depth must be at most 7, got {depth}: nodes are numbered in one byte")
    classes, encoded, counts = np.unique(labels, return_inverse=True, return_counts=True)
    shares = counts / n
    if len(classes) == 1:
        nothing = np.zeros((0, 1, 2**depth - 1))
        return Booster(classes, np.zeros(d), 1.0, np.zeros(1), rate, nothing.astype(np.int32), nothing, nothing)

    from unbraid.metrics._splits import cut_blocks
    from unbraid.metrics._trees import LANES, grow_trees, normalise

    binary = len(classes) == 2
    if binary:
        start = np.array([np.log(shares[1] / shares[0])])
        targets = 1 - encoded  # the one tree per stage is grown for row 0, the second class
    else:
        start = np.log(shares) - np.log(shares).mean()
        targets = encoded
    trees = len(start)
    chances = np.repeat(shares[-trees:, None], n, axis=1)
    scores = np.repeat(start[:, None], n, axis=1)
    order = np.argsort(values, axis=1, kind="stable").astype(np.uint32)
    ranked = np.take_along_axis(values, order, axis=1)
    # Small blocks have tight bounds, large ones make small histograms; any width finds the same splits.
    blocks = cut_blocks(ranked, order, max(16, round(0.48 * n**0.5)))
    inverse = 1.0 / np.maximum(np.arange(n + 1), 1)
    factor = 1.0 if binary else (trees - 1) / trees
    code = np.zeros((stages, trees, 2**depth - 1), np.int32)
    cut = np.full(code.shape, np.inf)
    leaf = np.zeros((stages, trees, 2**depth))
    gains = np.zeros((trees, d))
    key = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] >> np.uint64(2))

    def grow(stage: int, low: int) -> None:
        grow_trees(
            stage, low, min(low + LANES, trees), targets, chances, scores, values, ranked, order, blocks, inverse,
            rate, factor, key, code, cut, leaf, gains,
        )  # fmt: skip

    def rescale(low: int, high: int) -> None:
        normalise(chances, scores, low, high)

    groups = range(0, trees, LANES)
    parts = [n * part // threads for part in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        run = map if threads == 1 else pool.map
        for stage in range(stages):
            list(run(grow, [stage] * len(groups), groups))
            list(run(rescale, parts[:-1], parts[1:]))

    total = gains.sum(axis=0)
    importances = total / total.sum() if total.sum() > 0 else total
    fitted = _decide(scores[0] if binary else scores.T, len(classes))
    return Booster(classes, importances, float(np.mean(fitted == encoded)), start, rate, code, cut, leaf)


def _as_columns(codes: np.ndarray) -> np.ndarray:
    """Codes as contiguous float32 [d, n], checked."""
    codes = np.asarray(codes)
    if codes.ndim != 2 or 0 in codes.shape:
        raise UsageError(f"codes must be a non-empty array [samples, codes], got shape {codes.shape}")
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(codes.T, dtype=np.float32)
    if not np.isfinite(values).all():
        raise UsageError("codes must be finite in single precision; found NaN, infinity or values beyond 3.4e38")
    return values


def _decide(scores: np.ndarray, classes: int) -> np.ndarray:
    """Class index of the highest score; with two classes the second wins from log odds 0 on."""
    if classes == 1:
        return np.zeros(len(scores), np.intp)
    return (scores >= 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)

"""Linear support vector machines on one feature, solved exactly from sorted prefix sums."""

import numpy as np

__all__ = ["Feature", "predict"]


def predict(lines: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The class whose line ``[classes, 2]`` is highest at each value: int ``[n]``."""
    return np.argmax(values[:, None] * lines[:, 0] + lines[:, 1], axis=1)


class Feature:
    """One feature, sorted once for all label columns that will be fitted on it."""

    def __init__(self, values: np.ndarray) -> None:
        # Sums of squares far from zero lose digits: count from the mean, and let the penalty know (``solve``).
        self.centre = float(values.mean())
        self.order = np.argsort(values, kind="stable")
        self.values = values[self.order] - self.centre
        self.all = _prefix(self.values)

    def fit(self, labels: np.ndarray, classes: int, c: float) -> np.ndarray:
        """Slope and intercept of one classifier per class, one against the rest: ``[classes, 2]``.

        The problem is liblinear's (squared hinge, L2, intercept penalised like a weight, balanced class weights, where
        with three classes or more only the positive side is weighted):
        ``0.5 (w^2 + b^2) + c_+ sum_+ (1 - wx - b)_+^2 + c_- sum_- (1 + wx + b)_+^2``.
        On a line the samples inside the margin form a prefix or a suffix of the sorted values, so a Newton step for
        all classes costs a few binary searches instead of a pass over the data.
        """
        counts = np.bincount(labels, minlength=classes)
        weight = c * len(labels) / (classes * np.maximum(counts, 1))
        problem = _Classes(self, labels, classes)
        if classes == 2:
            line = problem.solve(np.array([1]), weight[1:], weight[:1])
            return np.vstack([-line, line])
        return problem.solve(np.arange(classes), weight, np.full(classes, c))


class _Classes:
    """Counts, sums and sums of squares of the values below any threshold, of everybody and of each class."""

    def __init__(self, feature: Feature, labels: np.ndarray, classes: int) -> None:
        self.centre, self.values, self.all = feature.centre, feature.values, feature.all
        self.n = len(labels)
        # Stable sorting of 16-bit integers is a radix sort, several times faster than of 64-bit ones.
        in_order = labels[feature.order].astype(np.int16 if classes < 2**15 else np.int64)
        by_class = np.argsort(in_order, kind="stable")
        self.keys = in_order[by_class].astype(np.int64) * self.n + by_class  # sorted by class, then by rank
        self.own = _prefix(self.values[by_class])
        self.start = np.searchsorted(self.keys, np.arange(classes + 1) * self.n)

    def below(self, thresholds: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Moments ``[3, p]`` of the values below each threshold: of the positive class, and of the rest."""
        rank = np.searchsorted(self.values, thresholds)
        mine = np.searchsorted(self.keys, positive * self.n + rank)
        own = self.own[:, mine] - self.own[:, self.start[positive]]
        return own, self.all[:, rank] - own

    def margin(self, w: np.ndarray, b: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Moments of the samples that pay: positives with ``wx + b < 1``, others with ``wx + b > -1``."""
        flat = w == 0
        slope = np.where(flat, 1.0, w)
        with np.errstate(over="ignore"):  # a nearly flat line crosses at infinity, which is right
            upper = np.where(flat, np.where(b < 1, np.inf, -np.inf), (1 - b) / slope)
            lower = np.where(flat, np.where(b > -1, -np.inf, np.inf), (-1 - b) / slope)
        own_upper, _ = self.below(upper, positive)
        _, rest_lower = self.below(lower, positive)
        own_all = self.own[:, self.start[positive + 1]] - self.own[:, self.start[positive]]
        rest_all = self.all[:, -1:] - own_all
        rising = w >= 0
        return np.where(rising, own_upper, own_all - own_upper), np.where(rising, rest_all - rest_lower, rest_lower)

    def solve(self, positive: np.ndarray, c_own: np.ndarray, c_rest: np.ndarray) -> np.ndarray:
        """Minimise every class's objective by damped Newton steps; it is convex and piecewise quadratic."""
        w, b = np.zeros(len(positive)), np.zeros(len(positive))

        def state(w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            (n1, s1, q1), (n0, s0, q0) = self.margin(w, b, positive)
            free = b - w * self.centre  # the intercept liblinear sees
            value = 0.5 * (w**2 + free**2)
            value = value + c_own * (n1 * (1 - b) ** 2 - 2 * (1 - b) * w * s1 + w**2 * q1)
            value = value + c_rest * (n0 * (1 + b) ** 2 + 2 * (1 + b) * w * s0 + w**2 * q0)
            dw = w - self.centre * free + 2 * c_own * (w * q1 - (1 - b) * s1) + 2 * c_rest * (w * q0 + (1 + b) * s0)
            db = free + 2 * c_own * (w * s1 - (1 - b) * n1) + 2 * c_rest * (w * s0 + (1 + b) * n0)
            hww = 1 + self.centre**2 + 2 * (c_own * q1 + c_rest * q0)
            hwb = -self.centre + 2 * (c_own * s1 + c_rest * s0)
            hbb = 1 + 2 * (c_own * n1 + c_rest * n0)
            return value, np.stack([dw, db]), np.stack([hww, hwb, hbb])

        value, slope, curve = state(w, b)
        for _ in range(200):
            hww, hwb, hbb = curve
            det = hww * hbb - hwb**2
            step_w = -(hbb * slope[0] - hwb * slope[1]) / det
            step_b = -(hww * slope[1] - hwb * slope[0]) / det
            if max(np.abs(step_w).max() / (1 + np.abs(w).max()), np.abs(step_b).max() / (1 + np.abs(b).max())) < 1e-10:
                break
            length = np.ones(len(positive))
            for _ in range(40):
                new = state(w + length * step_w, b + length * step_b)
                worse = new[0] > value * (1 + 1e-14)
                if not worse.any():
                    break
                length = np.where(worse, length / 2, length)
            w, b = w + length * step_w, b + length * step_b
            value, slope, curve = new
        return np.stack([w, b - w * self.centre], axis=1)


def _prefix(values: np.ndarray) -> np.ndarray:
    """Count, sum and sum of squares of the first ``i`` values: ``[3, n + 1]``."""
    sums = np.zeros((3, len(values) + 1))
    sums[0] = np.arange(len(values) + 1)
    np.cumsum(values, out=sums[1, 1:])
    np.cumsum(values**2, out=sums[2, 1:])
    return sums

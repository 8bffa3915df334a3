"""Medians, accuracies and curves of smallest distances, as Schott et al. (2019) count them."""

import numpy as np
import pytest

from unbraid.errors import UsageError
from unbraid.robustness import (
    accuracy_at,
    accuracy_curve,
    accuracy_interval,
    median_distance,
    median_interval,
    nearest_of,
)

FOUR = [0, 1, 2, np.inf]


def test_the_median_is_the_mean_of_the_two_in_the_middle_and_infinite_if_most_attacks_fail():
    assert median_distance(FOUR) == 1.5
    assert median_distance([np.inf, np.inf, 1]) == np.inf
    assert median_distance([0, 1, np.inf, np.inf]) == np.inf


def test_accuracy_counts_distances_beyond_the_bound_and_the_curve_starts_at_clean_accuracy():
    assert accuracy_at(FOUR, 1.5) == 0.5
    assert accuracy_at(FOUR, 2) == 0.25  # at the bound itself the image has fallen
    curve = accuracy_curve(FOUR)
    assert curve.bounds[0] == 0
    assert curve.accuracy[0] == 0.75
    assert curve.bounds[-1] == 2
    assert curve.accuracy[-1] == 0.25
    assert (np.diff(curve.accuracy) <= 0).all()
    for bound, share in zip(curve.bounds, curve.accuracy, strict=True):
        assert accuracy_at(FOUR, bound) == share


def test_the_nearest_of_all_attacks_never_has_a_larger_median_than_one_of_them():
    rng = np.random.default_rng(0)
    for _ in range(50):
        rows = {name: rng.choice([0, 0.5, 1, 2, 3, np.inf], 11) for name in "abc"}
        nearest = nearest_of(rows)
        assert nearest.tolist() == [min(one) for one in zip(*rows.values(), strict=True)]
        assert all(median_distance(nearest) <= median_distance(row) for row in rows.values())
        assert all(accuracy_at(nearest, 1.5) <= accuracy_at(row, 1.5) for row in rows.values())


def test_the_interval_of_an_accuracy_is_that_of_a_binomial():
    # 400 images of which 100 stand: drawn again, the count is binomial(400, 1/4), whose standard deviation is
    # sqrt(400 * 3 / 16) = 8.66 images; 1.96 of them are 4.24 points.
    distances = np.repeat([1.0, 3.0], [300, 100])
    low, high = accuracy_interval(distances, 2)
    assert low == pytest.approx(0.25 - 0.0424, abs=0.008)
    assert high == pytest.approx(0.25 + 0.0424, abs=0.008)
    curve = accuracy_curve(distances, [0, 2, 3])
    assert curve.low[1] == pytest.approx(low)  # the same images are drawn
    assert curve.high[1] == pytest.approx(high)
    assert [curve.low[0], curve.high[0], curve.low[2], curve.high[2]] == [1, 1, 0, 0]


def test_the_interval_of_a_median_is_that_of_order_statistics():
    # Of 1 ... 99 the median of a drawn sample lies between the order statistics 50 -+ 1.96 sqrt(99) / 2 = 40.2 and
    # 59.8; distribution-free.
    low, high = median_interval(np.arange(1, 100))
    assert low == pytest.approx(40.2, abs=2)
    assert high == pytest.approx(59.8, abs=2)
    assert median_interval([np.inf] * 5) == (np.inf, np.inf)
    assert median_interval(np.arange(1, 100), seed=1) != (low, high)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: median_distance([]), "one per image"),
        (lambda: median_distance([1, np.nan]), "numbers from 0"),
        (lambda: accuracy_at([1, -1], 1), "numbers from 0"),
        (lambda: accuracy_at([1], np.inf), "bound must be a number from 0"),
        (lambda: accuracy_curve([1], [-1]), "bounds must be numbers from 0"),
        (lambda: nearest_of({}), "at least one attack"),
        (lambda: nearest_of({"a": [1], "b": [1, 2]}), "same images for every attack, got a 1, b 2"),
    ],
)
def test_what_cannot_be_distances_is_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call()

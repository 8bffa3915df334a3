import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metric_toys import draws
from scipy.stats import chi2
from sklearn.metrics import mutual_info_score

from unbraid.errors import UsageError
from unbraid.metrics._discrete import bin_codes, distinct, entropy, informative, mutual_information, relabel, top_two


def test_information_of_all_pairs_equals_scikit_learn():
    a, b = draws((4, 7, 2), 500), draws((3, 40), 500, seed=1)
    b[:, 0] = (a[:, 0] + (b[:, 1] > 30)) % 3
    expected = [[mutual_info_score(x, y) for y in b.T] for x in a.T]
    np.testing.assert_allclose(mutual_information(a, b), expected, atol=1e-12)


def test_entropy_of_a_fair_and_a_loaded_coin():
    coins = np.array([[0, 0], [1, 0], [0, 0], [1, 1]])
    np.testing.assert_allclose(entropy(coins), [np.log(2), -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))])


@given(st.integers(2, 30), st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_equal_width_bins_are_those_of_numpy_histogram(bins, seed):
    values = np.random.default_rng(seed).normal(size=200)
    counts = np.bincount(bin_codes(values[:, None], bins)[:, 0], minlength=bins)
    np.testing.assert_array_equal(counts, np.histogram(values, bins)[0])


def test_quantile_bins_hold_equally_many_and_ignore_an_outlier():
    values = np.random.default_rng(0).normal(size=(1000, 1))
    values[0] = 1e6
    assert (np.bincount(bin_codes(values, 20, "quantile")[:, 0]) == 50).all()
    assert np.bincount(bin_codes(values, 20)[:, 0])[0] == 999


def test_a_constant_column_lands_in_one_bin():
    for binning in ("width", "quantile"):
        assert np.ptp(bin_codes(np.full((5, 1), 3.7), 20, binning)) == 0


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=40), st.sampled_from([1, 10**4]))
def test_distinct_values_are_those_of_numpy(values, divisor):
    column = np.array(values) // divisor  # close together and far apart
    for ours, numpys in zip(distinct(column), np.unique(column, return_inverse=True), strict=True):
        np.testing.assert_array_equal(ours, numpys)


def test_labels_are_numbered_in_their_order():
    labels, sizes = relabel(np.array([[7, -1], [-2, -1], [7, 5]]))
    np.testing.assert_array_equal(labels, [[1, 0], [0, 0], [1, 1]])
    np.testing.assert_array_equal(sizes, [2, 2])


def test_information_of_strangers_follows_the_chi_square_law_that_informative_assumes():
    # 2 n I between independent columns of 5 and 4 values has (5 - 1)(4 - 1) = 12 degrees of freedom.
    rng = np.random.default_rng(0)
    statistic = [
        2 * 400 * mutual_information(rng.integers(0, 5, (400, 1)), rng.integers(0, 4, (400, 1)))[0, 0]
        for _ in range(400)
    ]
    assert np.mean(statistic) == pytest.approx(12, rel=0.1)
    assert np.quantile(statistic, 0.9) == pytest.approx(chi2.ppf(0.9, 12), rel=0.1)


def test_noise_is_not_informative_and_a_weak_relation_is():
    factors = draws((3, 6, 40), 10_000)
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(10_000, 20))
    weak = factors[:, 1:2] + 3 * rng.normal(size=(10_000, 1))
    binned = bin_codes(np.hstack([noise, weak, np.zeros((10_000, 1))]))
    active = informative(mutual_information(binned, factors), binned, factors)
    np.testing.assert_array_equal(active, [*[False] * 20, True, False])


def test_second_of_a_single_entry_is_zero():
    top, second = top_two(np.array([[2.0, 3.0]]))
    np.testing.assert_array_equal([top, second], [[2, 3], [0, 0]])


def test_too_few_bins_and_unknown_binning_are_refused():
    with pytest.raises(UsageError, match=r"bins must lie in 2..1000, got 1"):
        bin_codes(np.zeros((3, 1)), 1)
    with pytest.raises(UsageError, match=r"2..2000, got 10000000; more bins than samples"):
        bin_codes(np.zeros((2000, 1)), 10**7)
    with pytest.raises(UsageError, match="did you mean 'quantile'"):
        bin_codes(np.zeros((3, 1)), 5, "quantiles")

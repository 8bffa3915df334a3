"""IRS and MCC."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metric_toys import DSPRITES, draws, rotation
from scipy.stats import pearsonr, spearmanr

from unbraid.errors import UsageError
from unbraid.metrics import irs, mcc
from unbraid.metrics._kinds import correlations


def test_irs_of_the_identity_code_is_one():
    factors = draws((10, 10, 8, 4), 5_000)
    score = irs(factors, factors)
    assert float(score) == pytest.approx(1)
    assert score.ceiling == pytest.approx(1)


def test_irs_of_constant_codes_is_zero():
    assert float(irs(np.full((200, 3), 0.1), draws((4, 4), 200))) == 0


def test_irs_of_noise_is_about_a_third_and_robust_irs_about_zero():
    # Largest of 10,000 normal deviations is about 3.9 sd, the 0.99 quantile 2.58 sd: 1 - 2.58 / 3.9 = 0.34.
    noise = np.random.default_rng(0).normal(size=(10_000, 10))
    factors = draws((10, 10, 10, 8, 4, 15), 10_000)
    assert float(irs(noise, factors)) == pytest.approx(0.35, abs=0.05)
    assert float(irs(noise, factors, robust=True)) < 0.03


def test_irs_ceiling_falls_when_values_outnumber_the_bins():
    # Two neighbouring values of 40 share a group: each deviates by 0.5 where the farthest value deviates by 19.5.
    factors = draws((40, 4), 5_000)
    score = irs(factors, factors)
    assert score.parts["scores"][0, 0] == pytest.approx(1 - 0.5 / 19.5, abs=0.01)
    assert score.ceiling == pytest.approx(float(score))


def numbered(factors):
    """The values that occur, from 0 without gaps, as the ceiling sees them."""
    return np.column_stack([np.unique(column, return_inverse=True)[1] for column in factors.T])


def irs_by_loops(codes, factors, bins, quantile):
    """As the definition reads: over factors, over their groups, a percentile of deviations; constant codes left out."""
    codes = codes[:, np.ptp(codes, axis=0) > 0]
    span = np.abs(codes - codes.mean(axis=0)).max(axis=0)
    table = np.zeros((codes.shape[1], factors.shape[1]))
    for k, factor in enumerate(factors.T):
        groups = np.digitize(factor, np.histogram(factor, bins)[1][:-1])
        for value in np.unique(groups):
            part = codes[groups == value]
            table[:, k] += np.percentile(np.abs(part - part.mean(axis=0)), 100 * quantile, axis=0)
        table[:, k] /= len(np.unique(groups))
    return np.average((1 - table / span[:, None]).max(axis=1), weights=span)


@pytest.mark.parametrize("bins", [2, 20, 500])
@pytest.mark.parametrize("quantile", [0.0, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("sizes", [(2, 5), DSPRITES, (3, 700)], ids=str)
def test_irs_equals_loops_over_factors_and_their_values(sizes, quantile, bins):
    factors = draws(sizes, 1_000)
    factors[:, 1] = factors[:, 1] ** 2 // sizes[1]  # values far from equally frequent, some of them alone
    factors = numbered(factors)
    noise = np.random.default_rng(1).normal(size=factors.shape)
    codes = np.column_stack([noise, 3 * factors + noise.round(), np.full(1_000, 0.1)])
    score = irs(codes, factors, bins=bins, quantile=quantile)
    assert float(score) == pytest.approx(irs_by_loops(codes, factors, bins, quantile), abs=1e-10)
    assert score.ceiling == pytest.approx(irs_by_loops(factors, factors, bins, quantile), abs=1e-10)


@pytest.mark.parametrize("quantile", [0.3, 0.99])
def test_robust_ceiling_is_the_robust_irs_of_the_factors_themselves(quantile):
    factors = numbered(draws((40, 4, 900), 2_000))
    score = irs(factors, factors, quantile=quantile, robust=True)
    assert score.ceiling == pytest.approx(float(score), abs=1e-10)


def test_one_outlier_raises_irs_but_not_robust_irs():
    codes = np.random.default_rng(0).normal(size=(5_000, 1))
    factors = draws((5, 5), 5_000)
    wild = codes.copy()
    wild[0] = 1_000
    assert float(irs(wild, factors)) > 0.9
    assert float(irs(wild, factors, robust=True)) == pytest.approx(float(irs(codes, factors, robust=True)), abs=0.02)


@given(st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_irs_ignores_order_sign_and_common_scale(seed):
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, (3, 5), size=(200, 2))
    codes = factors @ rng.normal(size=(2, 4)) + 0.3 * rng.normal(size=(200, 4))
    moved = 7 * codes[:, rng.permutation(4)] * rng.choice([-1, 1], 4)
    for robust in (False, True):
        assert float(irs(moved, factors, robust=robust)) == pytest.approx(float(irs(codes, factors, robust=robust)))


def test_mcc_correlations_equal_scipy():
    factors = draws((6, 9), 400)
    codes = factors @ np.random.default_rng(0).normal(size=(2, 3)) + draws((5, 5, 5), 400, seed=1)
    for method, reference in (("spearman", spearmanr), ("pearson", pearsonr)):
        expected = [[abs(reference(codes[:, j], factors[:, k])[0]) for k in range(2)] for j in range(3)]
        np.testing.assert_allclose(mcc(codes, factors, method=method).parts["correlations"], expected, atol=1e-12)


def test_mcc_of_a_permuted_flipped_and_warped_copy_is_one():
    factors = draws(DSPRITES, 2_000)
    codes = -np.exp(factors[:, [3, 0, 4, 1, 2]] / 10)
    score = mcc(codes, factors)
    assert float(score) == pytest.approx(1)
    np.testing.assert_array_equal(score.parts["code_of_factor"], [1, 3, 4, 0, 2])
    assert float(mcc(codes, factors, method="pearson")) < 0.99


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_mcc_ignores_order_sign_and_for_ranks_any_monotone_warp(seed):
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, (3, 5), size=(100, 2))
    codes = factors @ rng.normal(size=(2, 4)) + 0.3 * rng.normal(size=(100, 4))
    order, sign = rng.permutation(4), rng.choice([-1, 1], 4)
    kinds = [["ordinal", "periodic"], ["categorical", "ordinal"]][seed % 2]
    for options in ({"method": "spearman"}, {"method": "pearson"}, {"kinds": kinds}):
        before = float(mcc(codes, factors, **options))
        assert float(mcc(3 * codes[:, order] * sign - 1, factors, **options)) == pytest.approx(before)
    assert float(mcc(codes**3 + codes, factors)) == pytest.approx(float(mcc(codes, factors)))


def test_mcc_assigns_one_code_to_one_factor():
    # One code equal to both factors can serve only one of them; the other gets the weaker code.
    factor = np.arange(100)
    factors = np.column_stack([factor, factor])
    weak = np.where(factor % 2, factor, 0)
    score = mcc(np.column_stack([factor, weak]), factors, method="pearson")
    assert float(score) == pytest.approx((1 + pearsonr(weak, factor)[0]) / 2)


def test_mcc_of_noise_is_small_and_of_constant_codes_zero():
    factors = draws(DSPRITES, 10_000)
    assert float(mcc(np.random.default_rng(0).normal(size=(10_000, 10)), factors)) < 0.03
    assert float(mcc(np.full((10_000, 10), 0.1), factors)) == 0


def test_mcc_of_fewer_codes_than_factors_counts_the_rest_as_zero():
    factors = draws((10, 10), 500)
    score = mcc(factors[:, :1], factors)
    assert float(score) == pytest.approx(0.5)
    np.testing.assert_array_equal(score.parts["code_of_factor"], [0, -1])


def test_pearson_mcc_of_gaussians_rotated_by_45_degrees_is_the_root_of_one_half():
    values = np.random.default_rng(0).normal(size=(5_000, 2))
    factors = np.round(values * 1_000).astype(int)
    assert float(mcc(values @ rotation(45), factors, method="pearson")) == pytest.approx(0.707, abs=0.02)


def test_renumbered_categories_and_turned_circles_keep_their_mcc_once_kinds_are_given():
    factors = draws((6, 24), 4_000)
    angle = 2 * np.pi * factors[:, 1] / 24
    codes = np.column_stack([np.array([3, 0, 5, 1, 4, 2])[factors[:, 0]], np.cos(angle + 1)])
    kinds = ["categorical", "periodic"]
    score = mcc(codes, factors, method="pearson", kinds=kinds)
    assert float(score) == pytest.approx(1, abs=1e-9)
    assert score.ceiling == pytest.approx(1, abs=1e-9)
    assert float(mcc(codes, factors, method="pearson")) < 0.7


def test_circular_correlation_of_the_angle_itself():
    # Uniform angle on its cosine and sine: R^2 = 6 / pi^2 (all of it from the sine, whose coefficient is 2).
    factors = np.repeat(np.arange(1_000), 5)[:, None]
    value = correlations(factors.astype(float), factors, ["periodic"])[0, 0]
    assert value == pytest.approx(np.sqrt(6) / np.pi, abs=2e-3)


def test_a_circle_of_two_values_is_an_ordinary_factor():
    factors = np.tile([0, 1], 50)[:, None]
    assert correlations(factors.astype(float), factors, ["periodic"])[0, 0] == pytest.approx(1)


def test_unknown_method_is_named():
    with pytest.raises(UsageError, match="did you mean 'pearson'"):
        mcc(np.eye(3), np.eye(3, dtype=int), method="person")

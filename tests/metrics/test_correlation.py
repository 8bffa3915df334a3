import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from unbraid.errors import UsageError
from unbraid.metrics import gaussian_total_correlation, pairwise_mutual_information, wasserstein_correlation
from unbraid.metrics._discrete import bin_codes


def codes_with(covariance: np.ndarray, n: int = 400, seed: int = 0) -> np.ndarray:
    """Samples whose sample covariance is exactly the given one."""
    x = np.random.default_rng(seed).normal(size=(n, len(covariance)))
    x -= x.mean(axis=0)
    x = x @ np.linalg.inv(np.linalg.cholesky(np.cov(x, rowvar=False))).T
    return x @ np.linalg.cholesky(covariance).T


@pytest.mark.parametrize(("rho", "expected"), [(0.5, 0.14384), (0.9, 0.83037), (0.0, 0.0)])
def test_total_correlation_of_two_gaussians(rho, expected):
    # -0.5 ln(1 - rho^2)
    codes = codes_with(np.array([[1, rho], [rho, 1]]))
    assert float(gaussian_total_correlation(codes)) == pytest.approx(expected, abs=5e-6)


def test_wasserstein_correlation_of_two_gaussians():
    # 2 tr S - 2 (sqrt 1.9 + sqrt 0.1) = 4 - 3.38927
    codes = codes_with(np.array([[1, 0.9], [0.9, 1]]))
    assert float(wasserstein_correlation(codes)) == pytest.approx(0.61073, abs=5e-6)
    assert float(wasserstein_correlation(codes, normalize=True)) == pytest.approx(0.61073 / 2, abs=5e-6)


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_total_correlation_ignores_scale_sign_and_order(seed):
    rng = np.random.default_rng(seed)
    codes = rng.normal(size=(100, 4)) @ rng.normal(size=(4, 4))
    moved = (codes * [1e-3, -1, 1e3, 5])[:, rng.permutation(4)]
    before = float(gaussian_total_correlation(codes))
    assert float(gaussian_total_correlation(moved)) == pytest.approx(before, rel=1e-9)


@given(st.integers(0, 1000), st.floats(0.01, 100))
@settings(max_examples=20, deadline=None)
def test_normalised_wasserstein_correlation_ignores_a_common_scale(seed, scale):
    rng = np.random.default_rng(seed)
    codes = rng.normal(size=(100, 3)) @ rng.normal(size=(3, 3))
    before = float(wasserstein_correlation(codes, normalize=True))
    assert float(wasserstein_correlation(codes * scale, normalize=True)) == pytest.approx(before, rel=1e-6)
    assert float(wasserstein_correlation(codes * scale)) == pytest.approx(
        float(wasserstein_correlation(codes)) * scale**2, rel=1e-6, abs=1e-9
    )


def test_constant_codes_are_left_out_and_counted():
    codes = np.column_stack([codes_with(np.array([[1, 0.5], [0.5, 1]])), np.full(400, 7.0)])
    for score in (gaussian_total_correlation, wasserstein_correlation):
        assert float(score(codes)) == pytest.approx(float(score(codes[:, :2])))
        assert score(codes).parts["constant_codes"] == 1
        assert float(score(codes[:, 2:])) == 0
        assert float(score(codes[:, :1])) == 0


def test_a_copy_has_infinite_total_correlation():
    codes = np.random.default_rng(0).integers(0, 9, (50, 1)).astype(float)
    assert float(gaussian_total_correlation(np.hstack([codes, codes]))) > 15


def test_pairwise_information_is_the_mean_over_different_codes():
    codes = np.random.default_rng(0).normal(size=(300, 3)) @ np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1.0]])
    binned = bin_codes(codes)
    expected = np.mean([mutual_info_score(binned[:, i], binned[:, j]) for i in range(3) for j in range(3) if i != j])
    assert float(pairwise_mutual_information(codes)) == pytest.approx(expected)
    assert float(pairwise_mutual_information(codes[:, :1])) == 0


@pytest.mark.parametrize("scale", [1e-90, 1e90])
def test_small_and_large_codes_score_as_others_do(scale):
    codes = np.random.default_rng(0).normal(size=(200, 2)) @ np.array([[1.0, 0.5], [0.0, 1.0]])
    expected = [float(score(codes)) for score in (gaussian_total_correlation, shape_of_dependence)]
    found = [float(score(scale * codes)) for score in (gaussian_total_correlation, shape_of_dependence)]
    assert found == pytest.approx(expected)
    assert np.isfinite(float(wasserstein_correlation(scale * codes)))


def test_dead_codes_rule_both_values_and_the_live_part_leaves_them_out():
    rng = np.random.default_rng(0)
    live = rng.normal(size=(20_000, 2))
    # Faint echoes of a live code, as the means of a VAE's switched-off latents are.
    dead = 1e-3 * (live[:, :1] + 0.01 * rng.normal(size=(20_000, 2)))
    codes = np.hstack([live, dead])
    total = gaussian_total_correlation(codes)
    assert total.value > 8  # two echoes, each of correlation 0.99995 with its source: about 2 log 100
    assert total.parts["live"] == pytest.approx(float(gaussian_total_correlation(live)))
    assert total.parts["live_codes"] == 2
    assert float(gaussian_total_correlation(codes, min_spread=0.01)) == pytest.approx(total.parts["live"])
    pairs = pairwise_mutual_information(codes)
    assert pairs.value > 0.5
    assert pairs.parts["live"] == pytest.approx(float(pairwise_mutual_information(live)))
    assert float(pairwise_mutual_information(codes, min_spread=0.01)) == pytest.approx(pairs.parts["live"])
    with pytest.raises(UsageError, match="min_spread must lie"):
        gaussian_total_correlation(codes, min_spread=1.0)


def shape_of_dependence(codes):
    return wasserstein_correlation(codes, normalize=True)

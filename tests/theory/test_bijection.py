"""The bijection of the impossibility theorem: the law is kept, everything is mixed, and it can be undone."""

import numpy as np
import pytest
import torch
from scipy import stats

from unbraid.errors import UsageError
from unbraid.metrics import mig
from unbraid.theory import (
    Bijection,
    DependenceWarning,
    Normal,
    Uniform,
    bijection,
    binned_sources,
    check,
    empirical,
    hadamard,
    householder,
    random_rotation,
    sample_marginals,
)

CASES = {
    "householder 2": {"dimensions": 2, "alpha": 0.3},
    "householder 5": {"dimensions": 5, "alpha": 0.3},
    "householder 10": {"dimensions": 10, "alpha": 0.2},
    "hadamard 4": {"dimensions": 4, "matrix": "hadamard"},
    "random 3": {"dimensions": 3, "matrix": "random", "seed": 1},
}


def uniform(points: int, dimensions: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((points, dimensions))


@pytest.mark.parametrize("matrix", [householder(2, 0.3), householder(7, 0.05), hadamard(8), random_rotation(6, seed=3)])
def test_matrices_are_orthogonal_and_have_no_zero(matrix):
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(len(matrix)), atol=1e-12)
    assert np.abs(matrix).min() > 0


def test_householder_entries_follow_the_formula():
    # v = (sqrt 0.2, sqrt 0.4, sqrt 0.4): A_11 = 1 - 0.4, A_12 = -2 sqrt(0.08), A_22 = 1 - 0.8, A_23 = -0.8.
    expected = [[0.6, -2 * 0.08**0.5, -2 * 0.08**0.5], [-2 * 0.08**0.5, 0.2, -0.8], [-2 * 0.08**0.5, -0.8, 0.2]]
    np.testing.assert_allclose(householder(3, 0.2), expected, atol=1e-12)


def test_random_rotations_depend_on_the_seed_alone():
    np.testing.assert_array_equal(random_rotation(4, 1), random_rotation(4, 1))
    assert not np.allclose(random_rotation(4, 1), random_rotation(4, 2))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_uniform_sources_keep_their_law_and_stay_uncorrelated(case):
    f = bijection(**case)
    found = check(f, uniform(20_000, f.dimensions))
    assert found.p_values.min() > 1e-3
    assert found.correlation < 0.03
    assert found.smallest_derivative > 0
    assert found.inverse_error < 1e-6
    assert found.independent


@pytest.mark.parametrize("marginals", ["uniform", "normal"])
def test_symmetric_matrices_make_f_its_own_inverse(marginals):
    f = bijection(4, alpha=0.2, marginals=marginals)
    points = sample_marginals(f, 1000)
    np.testing.assert_allclose(f(f(points)), points, atol=1e-6)


def test_for_normal_marginals_f_is_the_matrix():
    f = bijection(3, matrix="random", marginals="normal")
    points = np.random.default_rng(0).standard_normal((50, 3))
    np.testing.assert_allclose(f(points), points @ f.matrix.T, atol=1e-12)
    np.testing.assert_allclose(f.jacobian(points), np.broadcast_to(f.matrix, (50, 3, 3)), atol=1e-12)


def test_the_jacobian_of_uniform_marginals_equals_autograd():
    f = bijection(3, alpha=0.3)
    points = 0.02 + 0.96 * uniform(20, 3)

    def by_hand(u: torch.Tensor) -> torch.Tensor:
        return torch.special.ndtr(torch.special.ndtri(u) @ torch.as_tensor(f.matrix).T)

    expected = torch.stack([torch.autograd.functional.jacobian(by_hand, u) for u in torch.as_tensor(points)])
    np.testing.assert_allclose(f.jacobian(points), expected.numpy(), atol=1e-5)
    assert np.abs(f.jacobian(points)).min() > 0


MIXED = [Normal(1.0, 2.0), Uniform(-1, 3), stats.gamma(2.0), (stats.logistic.cdf, stats.logistic.ppf)]


@pytest.mark.parametrize("laws", [MIXED, "empirical"], ids=["mixed laws", "empirical"])
def test_the_jacobian_equals_differences_for_any_marginals(laws):
    if laws == "empirical":
        laws = empirical(np.random.default_rng(0).exponential(size=(30, 4)))
    f = bijection(matrix="hadamard", marginals=laws)
    points = sample_marginals(f, 20, seed=4)
    step = 1e-7
    columns = [(f(points + step * unit) - f(points - step * unit)) / (2 * step) for unit in np.eye(4)]
    np.testing.assert_allclose(f.jacobian(points), np.stack(columns, axis=2), rtol=2e-4, atol=2e-5)


def test_any_independent_laws_are_kept():
    f = bijection(matrix="hadamard", marginals=MIXED)
    points = np.stack([np.asarray(law) for law in sample_marginals(f, 20_000).T], axis=1)
    turned = f(points)
    for column, law in zip(
        turned.T, (stats.norm(1, 2), stats.uniform(-1, 4), stats.gamma(2.0), stats.logistic()), strict=True
    ):
        assert stats.kstest(column, law.cdf).pvalue > 1e-3
    np.testing.assert_allclose(f.inverse(turned), points, atol=1e-5)


def test_empirical_marginals_keep_the_law_of_a_sample_and_reach_beyond_it():
    rng = np.random.default_rng(0)
    sample = np.stack([rng.exponential(size=5000), rng.random(5000) ** 3], axis=1)
    f = bijection(matrix="hadamard", marginals=empirical(sample))
    turned = f(sample)
    for before, after in zip(sample.T, turned.T, strict=True):
        assert stats.ks_2samp(before, after).pvalue > 1e-3
    # Codes outside the sample's range still come back: the map is one to one on the whole line.
    far = np.array([[-3.0, 5.0], [40.0, -2.0], [0.1, 0.2]])
    np.testing.assert_allclose(f.inverse(f(far)), far, atol=1e-8)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ({"dimensions": 2, "alpha": np.sin(np.pi / 8) ** 2}, 0.007),
        ({"dimensions": 2, "alpha": 0.3}, 0.32),
        ({"dimensions": 5, "alpha": 0.3}, 0.05),
        ({"dimensions": 10, "alpha": 0.2}, 0.19),
        ({"dimensions": 4, "matrix": "hadamard"}, 0.0),
    ],
)
def test_mig_falls_from_one_to_the_measured_values(case, expected):
    f = bijection(**case)
    sources = uniform(20_000, f.dimensions)
    factors = binned_sources(f, sources)
    assert float(mig(sources, factors)) == pytest.approx(0.997, abs=0.002)
    assert float(mig(f(sources), factors)) == pytest.approx(expected, abs=0.02)


def test_binned_sources_are_the_tenths_of_uniform_sources():
    f = bijection(2)
    assert binned_sources(f, [[0.05, 0.95], [0.55, 0.999999999]]).tolist() == [[0, 9], [5, 9]]


def test_dependent_coordinates_are_warned_about():
    # Correlation 0.9: total correlation -0.5 log(1 - 0.81) = 0.83 nats, far above 0.05.
    points = np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], size=4000)
    with pytest.warns(DependenceWarning, match="dependent"):
        found = check(bijection(2, alpha=0.3, marginals="normal"), points)
    assert found.total_correlation_before == pytest.approx(0.83, abs=0.05)
    assert not found.independent
    # The law is not kept: the variance of the first output is 1 + 2 A_11 A_12 0.9, far from 1.
    assert found.ks.max() > 0.05


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: householder(3, 0.5), "alpha must lie between 0 and 0.5"),
        (lambda: householder(1, 0.2), "dimensions must be at least 2"),
        (lambda: hadamard(6), "2, 4, 8, 16"),
        (lambda: bijection(2, matrix=np.eye(2)), "entry 0.0e"),
        (lambda: bijection(2, matrix=np.ones((2, 2))), "must be orthogonal"),
        (lambda: bijection(3, matrix=hadamard(2)), "2 dimensions, expected 3"),
        (lambda: bijection(2, matrix="hadamrd"), "did you mean 'hadamard'"),
        (lambda: bijection(2, marginals="unifrom"), "did you mean 'uniform'"),
        (lambda: bijection(2, marginals=[Normal()]), "one law per dimension, 2"),
        (lambda: bijection(2, marginals=[Normal(), "x"]), "cdf, ppf"),
        (lambda: bijection(2)([[0.5, 1.5]]), "outside the uniform law's support"),
        (lambda: bijection(2)([0.5, 0.5]), r"\[n, 2\]"),
        (lambda: bijection(2)([[0.5, np.nan]]), "NaN"),
        (lambda: empirical(np.ones((5, 1))), "two distinct values"),
    ],
)
def test_wrong_input_is_explained(call, message):
    with pytest.raises(UsageError, match=message):
        call()


def test_repr_says_what_it_is():
    assert repr(Bijection(hadamard(2), (Normal(), Uniform()))) == (
        "<Bijection of 2 dimensions, normal and uniform marginals>"
    )

"""The theorems of the VAE-PCA theory, each against its closed form and against descent from random starts."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import special_ortho_group

from unbraid.errors import UsageError
from unbraid.theory import (
    WORKED_EXAMPLE,
    LinearModel,
    best_noise_loss,
    best_variances,
    linear_vae_optimum,
    mechanism_contrast,
    minimise_noise_loss,
    orthogonal_noise_loss,
    theorem1_bound,
    theorem2_bound,
    theorem2_objective,
)


def plane(degrees):
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[c, -s], [s, c]])


@pytest.mark.parametrize("budget", [0.0, 3.0])
def test_the_worked_example_in_two_dimensions(budget):
    # |c|^2 = 50 and 3: 2 sqrt(150); turned by 45 degrees 61/2 and 45/2: 2 sqrt(2745)/2; singular values: 2 sqrt(134).
    scale = np.exp(-budget / 2)
    assert best_noise_loss(WORKED_EXAMPLE, budget) == pytest.approx(2 * np.sqrt(150) * scale)
    assert best_noise_loss(WORKED_EXAMPLE @ plane(45).T, budget) == pytest.approx(np.sqrt(2745) * scale)
    assert np.sqrt(2745) == pytest.approx(52.392, abs=1e-3)
    assert orthogonal_noise_loss(WORKED_EXAMPLE, budget) == pytest.approx(2 * np.sqrt(134) * scale)
    best = min(best_noise_loss(WORKED_EXAMPLE @ plane(angle).T, budget) for angle in np.linspace(0, 90, 9001))
    assert best == pytest.approx(23.1517 * scale, rel=1e-5)


def test_the_best_variances_spend_the_budget_and_even_out_the_noise():
    jacobian = np.random.default_rng(0).standard_normal((6, 4))
    variances = best_variances(jacobian, 2.5)
    assert -np.log(variances).sum() == pytest.approx(2.5)
    assert np.ptp((jacobian**2).sum(axis=0) * variances) == pytest.approx(0, abs=1e-12)
    with pytest.raises(UsageError, match="zero"):
        best_variances(np.diag([1.0, 0.0]))


@pytest.fixture(scope="module")
def jacobians():
    return np.random.default_rng(1).standard_normal((5, 10, 3))


def test_every_descent_meets_the_bound_with_orthogonal_columns(jacobians):
    bound = theorem1_bound(jacobians, 4.0)
    for seed in range(20):
        found = minimise_noise_loss(jacobians, 4.0, seed=seed)
        assert found.path[0] > bound + 0.1
        assert found.value == pytest.approx(bound, abs=1e-6)
        assert found.cosine < 1e-4


def test_the_gap_to_the_bound_at_best_variances_is_the_contrast(jacobians):
    # Per sample and in log units (2 / d) c_IMA; the budget is split evenly, as the split is free.
    values = [np.log(best_noise_loss(j, 4.0 / 5)) for j in jacobians]
    expected = 2 / 3 * mechanism_contrast(jacobians).sum()
    assert sum(values) - theorem1_bound(jacobians, 4.0) == pytest.approx(expected, abs=1e-8)


def test_orthogonal_columns_diagonal_gram_and_permutation_are_one_thing():
    # Proposition 1, on matrices with orthogonal columns and on random ones.
    rng = np.random.default_rng(2)
    basis = np.linalg.qr(rng.standard_normal((6, 3)))[0] * [3, 2, 1]
    for matrix, orthogonal in ((basis, True), (rng.standard_normal((6, 3)), False)):
        gram = matrix.T @ matrix
        v = np.abs(np.linalg.svd(matrix)[2])
        assert np.allclose(gram, np.diag(np.diag(gram))) is orthogonal
        assert np.allclose(np.sort(v, axis=1), [0, 0, 1]) is orthogonal


def test_no_basis_beats_the_principal_directions():
    # Three dimensions of reconstructions inside five: bases of that space only.
    rng = np.random.default_rng(3)
    space = np.linalg.qr(rng.standard_normal((5, 3)))[0]
    covariance = space @ np.diag([3.0, 1.0, 0.4]) @ space.T
    bound = theorem2_bound(covariance, 3, 1.0)
    assert theorem2_objective(space, covariance, 1.0) == pytest.approx(bound, abs=1e-10)
    for turn in special_ortho_group(3, seed=0).rvs(200):
        assert theorem2_objective(space @ turn, covariance, 1.0) > bound + 1e-6
    assert theorem2_objective(-space[:, [2, 0, 1]], covariance, 1.0) == pytest.approx(bound)


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(4)
    return (rng.uniform(-1, 1, (2000, 2)) * [1, 0.5]) @ np.linalg.qr(rng.standard_normal((3, 2)))[0].T + 0.3


def test_turning_latents_changes_neither_likelihood_nor_elbo_with_a_full_posterior(points):
    model = LinearModel.at_optimum(points, 0.05, 2)
    for degrees in (10, 45, 120):
        turned = model.rotated(plane(degrees))
        assert turned.loss(points, 0.05) == pytest.approx(model.loss(points, 0.05), abs=1e-9)
        assert turned.log_likelihood(points, 0.05) == pytest.approx(model.log_likelihood(points, 0.05), abs=1e-9)


def test_minus_the_loss_over_beta_is_the_elbo_and_tight_at_the_optimum(points):
    # |x - Dz|^2 / beta = squared error over twice the variance beta / 2; add the normalising constant of the pixels.
    beta = 0.05
    model = LinearModel.at_optimum(points, beta, 2)
    elbo = -model.loss(points, beta) / beta - 3 / 2 * np.log(np.pi * beta)
    assert elbo == pytest.approx(model.log_likelihood(points, beta), abs=1e-9)


def test_turning_latents_costs_a_diagonal_posterior_a_known_price():
    # Four corners have variances 1/3 and 1/12 exactly.
    corners = np.array([[a, b] for a in (-1, 1) for b in (-1, 1)]) * np.sqrt([1 / 3, 1 / 12])
    beta = 0.05
    model = LinearModel.at_optimum(corners, beta, 2)
    precisions = 1 / np.diag(model.covariance)
    for degrees, price in ((30, 0.0087994), (90, 0.0), (180, 0.0), (45, None)):
        u = plane(degrees)
        rise = model.rotated(u).with_diagonal_posterior(beta).loss(corners, beta) - model.loss(corners, beta)
        formula = beta / 2 * (np.log(np.diag(u @ np.diag(precisions) @ u.T)).sum() - np.log(precisions).sum())
        assert rise == pytest.approx(formula, abs=1e-12)
        assert price is None or rise == pytest.approx(price, abs=5e-8)


def test_the_closed_form_is_a_minimum(points):
    beta = 0.05
    model = LinearModel.at_optimum(points, beta, 2)
    rng = np.random.default_rng(5)
    best = model.loss(points, beta)
    for _ in range(100):
        parts = [0.02 * rng.standard_normal(part.shape) for part in (model.encoder, model.decoder)]
        noise = np.diag(np.exp(0.1 * rng.standard_normal(2)))
        other = LinearModel(model.encoder + parts[0], model.decoder + parts[1], model.covariance @ noise, model.centre)
        assert other.loss(points, beta) > best


def test_directions_die_at_twice_their_variance():
    # Synthetic linear data: variances 1/3 and 1/12, thresholds 2/3 and 1/6.
    alive = {
        beta: int(linear_vae_optimum([1 / 3, 1 / 12], beta).active.sum()) for beta in (0.1, 0.16, 0.17, 0.66, 0.67)
    }
    assert alive == {0.1: 2, 0.16: 2, 0.17: 1, 0.66: 1, 0.67: 0}
    # Beta 0.02: sigma^2 0.03 and 0.12; 0.15 / (log 1/0.03 + log 1/0.12) = 2.67 %.
    assert linear_vae_optimum([1 / 3, 1 / 12], 0.02).kl_error == pytest.approx(0.0267, abs=1e-4)


def test_rescaled_means_have_mean_square_one():
    # Lemma: argmin_c sum(c^2 x^2 - log(c^2 y^2)) = sqrt(N / sum x^2).
    x, y = np.random.default_rng(6).standard_normal((2, 50))
    found = minimize_scalar(lambda c: (c**2 * x**2 - np.log(c**2 * y**2)).sum(), bounds=(0.1, 10), method="bounded")
    assert found.x == pytest.approx(np.sqrt(50 / (x**2).sum()), rel=1e-4)

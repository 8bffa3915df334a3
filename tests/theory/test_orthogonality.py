"""Distance to orthogonality: the exact assignment, its range, its traps; and the contrast beside it."""

import itertools

import numpy as np
import pytest
from scipy.stats import special_ortho_group

from unbraid.errors import UsageError
from unbraid.theory import (
    WORKED_EXAMPLE,
    distance_to_orthogonality,
    largest_distance,
    linear_elbo_gap,
    mechanism_contrast,
    nearest_signed_permutation,
    random_distance,
    random_rotation,
)


def plane(degrees):
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[c, -s], [s, c]])


def brute_force(v):
    """The smallest L1 distance over all orders; signs copied from v."""
    d = len(v)
    best = np.inf
    for order in itertools.permutations(range(d)):
        p = np.zeros((d, d))
        p[range(d), order] = np.sign(v[range(d), order])
        best = min(best, np.abs(v - p).sum())
    return best


@pytest.mark.parametrize("d", [3, 4])
def test_the_assignment_is_as_good_as_trying_every_order(d):
    for v in special_ortho_group(d, seed=d).rvs(500):
        nearest = nearest_signed_permutation(v)
        assert np.abs(v - nearest).sum() == pytest.approx(brute_force(v), abs=1e-9)
        # |V - P|^2 = 2 d - 2 sum of chosen |V_ij|, as both have d as their squared norm.
        chosen = np.abs(v)[nearest != 0].sum()
        assert np.linalg.norm(v - nearest) == pytest.approx(np.sqrt(2 * (d - chosen)), abs=1e-9)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_the_mixed_integer_programme_finds_the_same_cost(d):
    for v in special_ortho_group(d, seed=7).rvs(25):
        ours, theirs = nearest_signed_permutation(v), nearest_signed_permutation(v, method="milp")
        assert np.abs(v - ours).sum() == pytest.approx(np.abs(v - theirs).sum(), abs=1e-9)
        assert np.abs(theirs).sum() == d


def test_a_turn_by_thirty_degrees_is_two_root_two_sine_fifteen_away():
    jacobian = np.diag([3.0, 1.0]) @ plane(30)
    assert distance_to_orthogonality(jacobian).mean == pytest.approx(2 * np.sqrt(2) * np.sin(np.radians(15)))
    assert distance_to_orthogonality(jacobian).mean == pytest.approx(0.7321, abs=1e-4)


def test_orthogonal_columns_of_any_length_order_and_sign_are_at_zero():
    basis = random_rotation(7, 3)[:, :4]
    signs = np.array([5.0, -1.0, 2.0, -0.1])
    found = distance_to_orthogonality(np.stack([basis * signs, basis[:, [2, 0, 3, 1]] * signs]))
    assert np.allclose(found.distances, 0, atol=1e-12)
    assert np.allclose(found.contrast, 0, atol=1e-12)


@pytest.mark.parametrize("d", [2, 3, 5, 6])
def test_no_rotation_is_further_than_the_bound(d):
    for v in special_ortho_group(d, seed=0).rvs(500):
        assert np.linalg.norm(v - nearest_signed_permutation(v)) <= largest_distance(d) + 1e-12


def test_hadamard_matrices_reach_the_bound():
    signs = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
    distance = np.linalg.norm(signs - nearest_signed_permutation(signs))
    assert distance == pytest.approx(largest_distance(4))


@pytest.mark.parametrize(("d", "expected"), [(2, 0.55), (5, 1.63), (6, 1.91)])
def test_evenly_drawn_rotations_have_the_known_mean_distance(d, expected):
    assert random_distance(d, draws=2500, seed=1) == pytest.approx(expected, abs=0.03)


def test_equal_singular_values_are_called_degenerate():
    close = np.diag([1.02, 1.0]) @ plane(40)
    apart = np.diag([1.2, 1.0]) @ plane(40)
    assert distance_to_orthogonality(np.stack([close, apart])).degenerate == 0.5


def test_passive_columns_are_left_out():
    jacobian = np.concatenate([random_rotation(5, 1)[:, :2] * [3, 1], np.full((5, 1), 1e-9)], axis=1)
    assert distance_to_orthogonality(jacobian, active=[0, 1]).mean == pytest.approx(0, abs=1e-12)
    with pytest.raises(UsageError, match="no latent is active"):
        distance_to_orthogonality(jacobian, active=[])
    with pytest.raises(UsageError, match="cannot be orthogonal"):
        distance_to_orthogonality(jacobian.T)


def test_the_worked_example_has_the_known_distances_and_contrasts():
    turned = WORKED_EXAMPLE @ plane(45).T
    assert distance_to_orthogonality(WORKED_EXAMPLE).mean == pytest.approx(0.1192, abs=5e-5)
    assert distance_to_orthogonality(turned).mean == pytest.approx(0.9713, abs=5e-5)
    assert float(mechanism_contrast(WORKED_EXAMPLE)) == pytest.approx(0.0564, abs=5e-5)
    assert float(mechanism_contrast(turned)) == pytest.approx(0.8167, abs=5e-5)


def test_the_contrast_is_hadamards_inequality():
    rng = np.random.default_rng(0)
    jacobians = rng.standard_normal((50, 6, 3))
    determinant = np.linalg.det(np.swapaxes(jacobians, 1, 2) @ jacobians)
    expected = np.log(np.linalg.norm(jacobians, axis=1)).sum(axis=1) - 0.5 * np.log(determinant)
    assert np.allclose(mechanism_contrast(jacobians), expected)
    # It does not see lengths.
    assert np.allclose(mechanism_contrast(jacobians * [1, 1e-6, 50]), expected)


def test_the_elbo_gap_grows_to_the_contrast_and_a_full_posterior_closes_it():
    w = np.random.default_rng(4).standard_normal((3, 3))
    gaps = [linear_elbo_gap(w, gamma**2) for gamma in (0.1, 1.0, 10.0, 100.0)]
    assert np.all(np.diff(gaps) > 0)
    assert gaps[-1] == pytest.approx(float(mechanism_contrast(w)), abs=1e-2)
    lengths = 100.0**2 * (w**2).sum(axis=0) + 1
    closed = 0.5 * (np.log(lengths).sum() - np.linalg.slogdet(100.0**2 * w.T @ w + np.eye(3))[1])
    assert gaps[-1] == pytest.approx(closed)
    assert linear_elbo_gap(w, 100.0**2, posterior="full") == pytest.approx(0, abs=1e-9)

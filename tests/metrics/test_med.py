"""MED and Top-k MED."""

import numpy as np
import pytest
from metric_toys import draws

from unbraid.errors import UsageError
from unbraid.metrics import med
from unbraid.metrics.med import med_of


def test_two_codes_that_share_two_factors_three_to_one():
    # Every row and column is (3/4, 1/4) of 4: 1 - H_2(1/4) = 1 - .811278.
    found = med_of([[3, 1], [1, 3]])
    assert found["disentanglement"] == pytest.approx(0.188722, abs=1e-6)
    assert found["completeness"] == pytest.approx(0.188722, abs=1e-6)


def test_the_worked_example_with_and_without_top():
    # Columns over their sums: (1/2, 0, 1/2) and (1/4, 3/4, 0).
    found = med_of([[2, 1], [0, 3], [2, 0]])
    np.testing.assert_allclose(found["disentanglement_per_code"], [0.081704, 1, 1], atol=1e-6)
    assert found["disentanglement"] == pytest.approx(0.655639, abs=1e-6)
    assert found["completeness"] == pytest.approx(0.428605, abs=1e-6)
    best = med_of([[2, 1], [0, 3], [2, 0]], top=1)
    np.testing.assert_array_equal(best["kept"], [1, 2])
    assert (best["disentanglement"], best["completeness"]) == pytest.approx((1, 1))


def test_identity_copies_and_side_by_side():
    assert med_of(np.eye(5))["disentanglement"] == pytest.approx(1)
    twice = med_of(np.vstack([np.eye(5), np.eye(5)]))
    assert twice["disentanglement"] == pytest.approx(1)
    assert twice["completeness"] == pytest.approx(1 - np.log(2) / np.log(10))
    # Three codes, each of which serves two of six factors alike.
    assert med_of(np.hstack([np.eye(3), np.eye(3)]))["disentanglement"] == pytest.approx(1 - np.log(2) / np.log(6))


def test_the_shares_let_many_codes_of_chance_pull_a_perfect_one_down():
    # Entropies of three factors over one nat each; 50 codes with .01 nats of everything hold 50 * .01 / 1.5 of R.
    matrix = np.vstack([np.eye(3), np.full((50, 3), 0.01)])
    assert med_of(matrix)["disentanglement"] == pytest.approx(0.667, abs=0.001)


@pytest.mark.parametrize("top", [None, 1, 9])
def test_what_nobody_knows_gives_no_nan(top):
    for matrix in (np.zeros((3, 2)), [[1.0, 0.0], [0.5, 0.0]], [[0.3, 0.2]]):
        found = med_of(matrix, top=top)
        assert np.isfinite([found["disentanglement"], found["completeness"]]).all()
    assert med_of([[0.3, 0.2]], top=1)["completeness"] == pytest.approx(1)


def test_chance_fills_the_shares_unless_it_is_taken_off():
    # Two copies (noise .3) of five factors and 490 codes of noise, n = 10,000.
    rng = np.random.default_rng(0)
    factors = draws((3, 6, 10, 8, 4), 10_000)
    copies = np.hstack([factors, factors]) + 0.3 * rng.normal(size=(10_000, 10))
    codes = np.hstack([copies, rng.normal(size=(10_000, 490))])
    plain, clean = med(codes, factors), med(codes, factors, debias=True)
    assert float(plain) == pytest.approx(0.55, abs=0.02)
    assert med_of(plain.parts["information"], top=1)["disentanglement"] == pytest.approx(0.95, abs=0.02)
    assert float(clean) == pytest.approx(0.97, abs=0.02)
    # By disentanglement alone codes of noise with a single entry left come first; weighed, the copies do.
    by_d = med_of(clean.parts["information"], top=1)["kept"]
    weighed = med_of(clean.parts["information"], top=1, by_weight=True)["kept"]
    assert (by_d >= 10).any()
    assert (weighed < 10).all()
    assert sorted(weighed % 5) == [0, 1, 2, 3, 4]


def test_informativeness_is_that_of_a_linear_read_out():
    factors = draws((3, 4), 600)
    one_hot = np.hstack([np.eye(3)[factors[:, 0]], np.eye(4)[factors[:, 1]]])
    assert med(one_hot, factors, informativeness=True).parts["informativeness"] == pytest.approx(1)
    noise = med(np.random.default_rng(0).normal(size=(600, 2)), factors, informativeness=True)
    assert noise.parts["informativeness"] == pytest.approx((1 / 3 + 1 / 4) / 2, abs=0.06)


def test_a_number_of_codes_that_is_none_is_refused():
    with pytest.raises(UsageError, match="top must be"):
        med(np.eye(4), np.arange(4)[:, None] % 2, top=0)

"""DCI: the closed forms, the whole procedure, and scikit-learn's estimator beside this library's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unbraid.errors import UsageError
from unbraid.metrics.dci import dci, dci_of


def grid(n: int, sizes: tuple[int, ...], seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(size, size=n) for size in sizes], axis=1)


def mixed(n: int, sizes: tuple[int, ...], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Eight codes that mix the factors, each leaning to one of them, through a nonlinearity and with noise."""
    rng = np.random.default_rng(100 + seed)
    factors = grid(n, sizes, seed)
    mixing = np.random.default_rng(1).normal(scale=0.8, size=(len(sizes), 8))
    mixing[np.arange(8) % len(sizes), np.arange(8)] += 1
    hidden = (2 * (factors + 0.5) / np.array(sizes) - 1) @ mixing
    return np.tanh(hidden) + 0.3 * rng.normal(size=(n, 8)), factors


def test_a_diagonal_matrix_is_disentangled_and_complete():
    assert dci_of(np.diag([3.0, 1.0, 2.0]))[:2] == pytest.approx((1, 1), abs=1e-9)


def test_redundant_codes_lose_completeness_only():
    # Each of 5 factors is spread evenly over 2 of 10 codes: entropy ln 2 in units of ln 10.
    assert dci_of(np.vstack([np.eye(5), np.eye(5)]))[:2] == pytest.approx((1, 1 - np.log(2) / np.log(10)), abs=1e-8)


def test_codes_that_serve_two_factors_lose_disentanglement_only():
    assert dci_of(np.hstack([np.eye(5), np.eye(5)]))[:2] == pytest.approx((1 - np.log(2) / np.log(10), 1), abs=1e-8)


def test_no_importance_at_all_scores_zero():
    assert dci_of(np.zeros((4, 3)))[:2] == (0, 0)


def test_codes_count_by_their_share_of_importance():
    # Code 0 holds 3/4 of all importance and serves one factor; code 1 serves both alike and is worth 0.
    # Completeness: factor 0 has shares (6, 1)/7, factor 1 belongs to code 1 alone; factor weights 7/8 and 1/8.
    value, completeness, per_code, per_factor = dci_of([[6.0, 0.0], [1.0, 1.0]])
    entropy = -(6 / 7 * np.log2(6 / 7) + 1 / 7 * np.log2(1 / 7))
    np.testing.assert_allclose(per_code, [1, 0], atol=1e-8)
    np.testing.assert_allclose(per_factor, [1 - entropy, 1], atol=1e-8)
    assert value == pytest.approx(6 / 8, abs=1e-8)
    assert completeness == pytest.approx(7 / 8 * (1 - entropy) + 1 / 8, abs=1e-8)


def test_one_factor_is_disentangled_by_any_code_that_informs():
    assert dci_of([[0.5], [0.5]])[:2] == pytest.approx((1, 0), abs=1e-9)
    assert dci_of([[0.0], [0.0]])[0] == 0


@settings(max_examples=50, deadline=None)
@given(arrays(float, (4, 3), elements=st.floats(0.01, 1)), st.permutations(range(4)), st.permutations(range(3)))
def test_order_sign_and_scale_do_not_matter(matrix: np.ndarray, codes: list[int], factors: list[int]):
    changed = -7 * matrix[codes][:, factors]
    assert dci_of(changed)[:2] == pytest.approx(dci_of(matrix)[:2], abs=1e-7)
    np.testing.assert_allclose(dci_of(changed)[2], dci_of(matrix)[2][codes], atol=1e-7)


def test_identity_codes_are_nearly_perfect():
    factors = grid(2000, (5, 4, 3, 5, 2))
    score = dci(factors, factors)
    assert score.value >= 0.95
    assert score.parts["completeness"] >= 0.95
    assert score.parts["informativeness_test"] == 1
    assert score.ceiling == 1


def test_a_rotation_of_a_perfect_code_is_entangled():
    factors, others = (grid(1000, (3, 6, 40, 32, 32), seed) for seed in (0, 1))
    centre, spread = factors.mean(axis=0), factors.std(axis=0)
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    for turn, bounds in ((np.eye(5), (0.95, 1.0)), (rotation, (0.0, 0.4))):
        codes, held_out = ((part - centre) / spread @ turn for part in (factors, others))
        low, high = bounds
        assert low <= dci(codes, factors, test=(held_out, others), stages=20).value <= high


def test_agrees_with_scikit_learns_estimator_over_seeds():
    parts = ("disentanglement", "completeness", "informativeness_train", "informativeness_test")
    differences = []
    for seed in range(3):
        sample, test = mixed(800, (3, 6, 4), seed), mixed(500, (3, 6, 4), seed + 50)
        ours, theirs = (
            dci(*sample, test=test, backend=backend, stages=20, seed=seed) for backend in ("exact", "sklearn")
        )
        assert 0.1 < ours.value < 0.9  # neither perfect nor empty, where anything would agree
        np.testing.assert_allclose(ours.parts["importance"], theirs.parts["importance"], atol=0.01)
        differences.append([ours.parts[part] - theirs.parts[part] for part in parts])
    assert np.abs(np.mean(differences, axis=0)).max() < 0.005


def test_constant_codes_score_zero():
    factors = grid(200, (3, 4))
    score = dci(np.ones((200, 5)), factors)
    assert score.value == 0
    assert score.parts["completeness"] == 0
    np.testing.assert_array_equal(score.parts["importance"], 0)


def test_monotone_rescaling_of_codes_changes_nothing():
    # Trees see the order of a code's values only; powers of two keep even the midpoints where they were.
    codes, factors = mixed(400, (3, 4))
    first = dci(codes, factors, stages=10)
    second = dci(codes * 2.0 ** np.arange(8), factors, stages=10)
    np.testing.assert_allclose(first.parts["importance"], second.parts["importance"], atol=1e-12)


def test_settings_say_how_it_was_computed():
    codes, factors = mixed(300, (3, 4))
    score = dci(codes, factors, stages=3, seed=5)
    expected = {"backend": "exact", "stages": 3, "depth": 3, "rate": 0.1, "seed": 5, "train": 200, "test": 100}
    assert expected.items() <= dict(score.settings).items()
    assert score.parts["importance"].shape == (8, 2)


def test_an_unknown_backend_is_named():
    codes, factors = mixed(30, (3, 4))
    with pytest.raises(UsageError, match="unknown backend 'sklern'; did you mean 'sklearn'"):
        dci(codes, factors, backend="sklern")


def test_factors_of_many_values_can_be_left_out():
    codes, factors = mixed(600, (3, 4))
    persons = np.random.default_rng(5).integers(200, size=(600, 1))
    found = dci(codes, np.hstack([persons, factors]), stages=3, most_values=100)
    alone = dci(codes, factors, stages=3)
    assert found.value == alone.value
    assert found.parts["importance"].shape == (8, 2)
    assert found.settings["kept_factors"] == [1, 2]
    assert "most_values" not in alone.settings
    with pytest.raises(UsageError, match="every factor has more than 2 values"):
        dci(codes, factors, stages=3, most_values=2)

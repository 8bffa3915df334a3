import numpy as np
import pytest
from metric_toys import rotation
from scipy.stats import spearmanr
from sklearn.linear_model import Lasso

from unbraid.errors import UsageError
from unbraid.metrics import udr
from unbraid.metrics._kinds import standardize
from unbraid.metrics.udr import lasso, pair_scores


def normal(seed: int, n: int = 1_000, d: int = 10) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def direct(source: np.ndarray, target: np.ndarray, keep_source: np.ndarray, keep_target: np.ndarray) -> float:
    """The pair score written out with scikit-learn's Lasso."""
    x, y = standardize(source) * keep_source, standardize(target) * keep_target
    r = np.abs(Lasso(alpha=0.1, tol=1e-12, max_iter=100_000).fit(x, y).coef_.T)[np.ix_(keep_source, keep_target)]
    columns = [column.max() ** 2 / column.sum() if column.any() else 0 for column in r.T]
    rows = [row.max() ** 2 / row.sum() if row.any() else 0 for row in r]
    return 0.5 * (np.mean(columns) + np.mean(rows))


def test_lasso_of_all_pairs_equals_scikit_learn():
    rng = np.random.default_rng(0)
    base = normal(0, 300, 4)
    models = [standardize(base @ rng.normal(size=(4, 5)) + 0.3 * rng.normal(size=(300, 5))) for _ in range(3)]
    stacked = np.hstack(models)
    weights = lasso((stacked.T @ stacked / 300).reshape(3, 5, 3, 5), 0.1)
    for a in range(3):
        for b in range(3):
            reference = Lasso(alpha=0.1, tol=1e-12, max_iter=100_000).fit(models[a], models[b]).coef_.T
            np.testing.assert_allclose(weights[a, :, b, :], reference, atol=1e-6)


def test_pair_scores_equal_the_direct_formulation_with_the_target_second():
    rng = np.random.default_rng(1)
    base = normal(2, 400, 3)
    codes = np.stack([base @ rng.normal(size=(3, 4)) + 0.2 * rng.normal(size=(400, 4)) for _ in range(3)])
    kl = np.array([[1, 1, 0.005, 1], [1, 1, 1, 1], [0, 1, 1, 0]])
    score = udr(list(codes), list(kl))
    for i in range(3):
        others = [direct(codes[a], codes[i], kl[a] > 0.01, kl[i] > 0.01) for a in range(3) if a != i]
        assert score.parts["per_model"][i] == pytest.approx(np.median(others), abs=1e-6)
    assert float(score) == pytest.approx(score.parts["per_model"].mean())


def test_identical_permuted_and_flipped_models_reach_one_minus_alpha():
    codes = normal(0)
    rng = np.random.default_rng(1)
    copies = [codes[:, rng.permutation(10)] * rng.choice([-1, 1], 10) for _ in range(5)]
    score = udr([codes, *copies])
    np.testing.assert_allclose(score.parts["per_model"], 0.9, atol=0.005)
    assert score.ceiling == pytest.approx(0.9)
    assert float(udr([codes, *copies], rescale=True)) == pytest.approx(1, abs=0.006)


def test_independent_models_score_zero():
    # Chance correlations of 1,000 samples stay below the penalty of 0.1, so every weight is 0.
    assert float(udr([normal(seed) for seed in range(5)])) < 0.005


def test_a_rotation_by_45_degrees_scores_a_third():
    # Both weights are 0.707 - 0.1 = 0.607; max^2 / sum = 0.607 / 2 = 0.304.
    codes = normal(0, d=2)
    assert float(udr([codes, codes @ rotation(45)])) == pytest.approx(0.306, abs=0.01)


def test_spearman_of_identical_models_is_held_down_by_chance_correlations():
    # Nine strangers add sqrt(2 / (pi n)) = 0.025 each to the sum of a row: 1 / (1 + 9 * 0.025) = 0.815, a bit more
    # for the spread of the sum.
    scores = [udr([normal(seed)] * 2, kind="spearman") for seed in range(10)]
    assert np.mean([float(score) for score in scores]) == pytest.approx(0.83, abs=0.02)
    assert scores[0].ceiling == pytest.approx(0.82, abs=0.01)
    codes = normal(0)
    permuted = udr([codes, -codes[:, ::-1]], kind="spearman")
    assert float(permuted) == pytest.approx(float(scores[0]), abs=1e-12)


def test_spearman_weights_equal_scipy():
    a, b = normal(0, 200, 3), normal(1, 200, 3) ** 3
    b[:, 0] += a[:, 1]
    r = np.abs([[spearmanr(x, y)[0] for y in b.T] for x in a.T])
    expected = 0.5 * ((r.max(0) ** 2 / r.sum(0)).mean() + (r.max(1) ** 2 / r.sum(1)).mean())
    pairs = pair_scores(np.stack([a, b]), np.ones((2, 3), dtype=bool), kind="spearman")
    assert pairs[0, 1] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("r", "expected"),
    [
        ([[1, 1, 0], [1, 1, 0], [0, 0, 1]], 2 / 3),  # per column 1/2, 1/2, 1
        (np.ones((3, 3)), 1 / 3),
        (np.zeros((3, 3)), 0),
    ],
)
def test_pair_score_of_a_similarity_matrix(r, expected, monkeypatch):
    import sys

    module = sys.modules["unbraid.metrics.udr"]
    weights = np.zeros((2, 3, 2, 3))
    weights[0, :, 1] = r
    monkeypatch.setattr(module, "lasso", lambda *_: weights)
    pairs = pair_scores(np.stack([normal(0, 50, 3), normal(1, 50, 3)]), np.ones((2, 3), dtype=bool))
    assert pairs[0, 1] == pytest.approx(expected)


def test_inactive_codes_are_ignored():
    codes = normal(0, d=4)
    noise = [np.column_stack([codes, normal(seed, d=1)]) for seed in (1, 2)]
    kl = [np.array([1, 1, 1, 1, 0.01])] * 2
    assert float(udr(noise, kl)) == pytest.approx(float(udr([codes, codes])), abs=1e-9)
    assert float(udr(noise)) < 0.8


def test_without_active_codes_the_score_is_zero():
    assert float(udr([normal(0), normal(0)], [np.zeros(10)] * 2)) == 0
    assert float(udr([np.ones((50, 3))] * 2)) == 0


def test_weightings_differ_only_where_numbers_of_active_codes_do():
    codes = normal(0, d=4)
    assert float(udr([codes, codes], weighting="codes")) == pytest.approx(float(udr([codes, codes])))
    # Target has all four codes, source only one of them: columns (0.9, 0, 0, 0), row 0.9.
    kl = [np.array([1, 0, 0, 0]), np.ones(4)]
    half = udr([codes, codes], kl).parts["pairs"][0, 1]
    both = udr([codes, codes], kl, weighting="codes").parts["pairs"][0, 1]
    assert half == pytest.approx(0.5 * (0.9 / 4 + 0.9), abs=0.01)
    assert both == pytest.approx((0.9 + 0.9) / 5, abs=0.01)


def test_bad_models_are_named():
    with pytest.raises(UsageError, match="at least two"):
        udr([normal(0)])
    with pytest.raises(UsageError, match=r"model 1 have shape \(1000, 9\), those of model 0 \(1000, 10\)"):
        udr([normal(0), normal(0, d=9)])
    with pytest.raises(UsageError, match="kl_per_model holds 1 models, codes_per_model 2"):
        udr([normal(0), normal(1)], [np.ones(10)])
    with pytest.raises(UsageError, match="kl of model 0 must be 10 finite numbers"):
        udr([normal(0), normal(1)], [np.ones(3), np.ones(10)])
    with pytest.raises(UsageError, match="codes of model 1 has 1 of"):
        udr([np.ones((2, 1)), np.array([[np.nan], [0]])])
    with pytest.raises(UsageError, match="did you mean 'lasso'"):
        udr([normal(0), normal(1)], kind="lass")
    with pytest.raises(UsageError, match="alpha"):
        udr([normal(0), normal(1)], alpha=0)


def test_kl_that_is_no_number_is_named():
    codes = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(UsageError, match="kl_per_model must hold numbers"):
        udr([codes, codes], [["a", "b"], ["c", "d"]])

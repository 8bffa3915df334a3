"""The booster against scikit-learn's classifier, whose model it must reproduce."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.ensemble import GradientBoostingClassifier

from unbraid.errors import UsageError
from unbraid.metrics._boosting import fit_booster


def entangled(
    n: int, sizes: tuple[int, ...], *, d: int = 6, seed: int = 0, noise: float = 0.15
) -> tuple[np.ndarray, np.ndarray]:
    """Codes that mix the factors nonlinearly with some noise, as a partly disentangled model's do."""
    rng = np.random.default_rng(seed)
    factors = np.stack([rng.integers(size, size=n) for size in sizes], axis=1)
    mixing = 0.35 * rng.normal(size=(len(sizes), d))
    mixing[np.arange(d) % len(sizes), np.arange(d)] += 1
    hidden = (2 * (factors + 0.5) / np.array(sizes) - 1) @ mixing
    return np.tanh(hidden) + 0.1 * np.sin(3 * hidden) + noise * rng.normal(size=(n, d)), factors


def reference(codes: np.ndarray, labels: np.ndarray, **options: int) -> GradientBoostingClassifier:
    return GradientBoostingClassifier(**{"n_estimators": 10, "random_state": 0, **options}).fit(codes, labels)


@pytest.mark.parametrize("size", [2, 3, 7])
def test_scores_equal_those_of_scikit_learn(size: int):
    # Many samples, much noise, few stages: no two splits of a node are equally good, so nothing is left to chance.
    codes, factors = entangled(4000, (size, 5), noise=0.5)
    labels = factors[:, 0]
    model = fit_booster(codes, labels, stages=3)
    expected = reference(codes, labels, n_estimators=3)
    fresh = entangled(500, (size, 5), noise=0.5, seed=1)[0]
    np.testing.assert_allclose(model.decision_function(fresh), expected.decision_function(fresh), atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(fresh), expected.predict_proba(fresh), atol=1e-12)
    np.testing.assert_array_equal(model.predict(fresh), expected.predict(fresh))
    np.testing.assert_allclose(model.importances, expected.feature_importances_, atol=1e-10)
    assert model.train_accuracy == pytest.approx(expected.score(codes, labels))


def best_gain(codes: np.ndarray, residual: np.ndarray) -> float:
    """Largest reduction of the squared error by one cut, by trying all; -1 if there is none."""
    best = -1.0
    n = len(residual)
    for column in codes.T:
        order = np.argsort(column, kind="stable")
        value, left = column[order], np.arange(1, n)
        s = np.cumsum(residual[order])[:-1]
        gain = (s - left * residual.mean()) ** 2 * n / (left * (n - left))
        best = max(best, gain[value[1:] > value[:-1] + np.float32(1e-7)].max(initial=-1.0))
    return best


@pytest.mark.parametrize("size", [3, 12])
@pytest.mark.parametrize("digits", [1, 9])
def test_every_split_of_every_tree_is_the_best_one(size: int, digits: int):
    # The whole model is replayed from its trees with numpy alone: splits, leaves, importances. Ties cannot disturb it.
    codes, factors = entangled(700, (size, 5), d=4)
    codes = codes.round(digits).astype(np.float32)
    labels, rate = factors[:, 0], 0.1
    model = fit_booster(codes, labels, stages=12, rate=rate)
    scores = np.tile(np.log(np.bincount(labels) / 700), (700, 1))
    importances = np.zeros(4)
    for stage in range(12):
        chances = softmax(scores, axis=1)
        for k in range(size):
            residual = (labels == k) - chances[:, k]
            node = np.zeros(700, dtype=int)
            for place in range(7):
                inside = node == place
                cut, code = model.cut[stage, k, place], model.code[stage, k, place]
                right = codes[:, code] > cut
                node[inside] = 2 * place + 1 + right[inside]
                if not np.isfinite(cut):
                    assert (
                        inside.sum() < 2
                        or residual[inside].var() < 1e-15
                        or best_gain(codes[inside], residual[inside]) < 0
                    )
                    continue
                sides = [residual[inside & right], residual[inside & ~right]]
                gain = sum(side.sum() ** 2 / len(side) for side in sides) - residual[inside].sum() ** 2 / inside.sum()
                assert gain == pytest.approx(best_gain(codes[inside], residual[inside]), rel=1e-8, abs=1e-12)
                importances[code] += gain
            for leaf in np.unique(node):
                own = residual[node == leaf]
                newton = (size - 1) / size * own.sum() / (np.abs(own) * (1 - np.abs(own))).sum()
                assert model.leaf[stage, k, leaf - 7] == pytest.approx(newton, rel=1e-8)
                scores[node == leaf, k] += rate * newton
    np.testing.assert_allclose(model.importances, importances / importances.sum(), atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(codes), softmax(scores, axis=1), atol=1e-9)


@pytest.mark.parametrize("size", [2, 4])
def test_hundred_stages_keep_importances_within_a_hundredth(size: int):
    # Late trees isolate single samples, which several codes do equally well: here chance decides in both libraries.
    codes, factors = entangled(1000, (size, 5), noise=0.4)
    model = fit_booster(codes, factors[:, 0])
    expected = reference(codes, factors[:, 0], n_estimators=100)
    np.testing.assert_allclose(model.importances, expected.feature_importances_, atol=0.01)
    assert model.importances.sum() == pytest.approx(1)
    assert model.train_accuracy == pytest.approx(expected.score(codes, factors[:, 0]), abs=0.01)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_other_depths_equal_scikit_learn(depth: int):
    codes, factors = entangled(4000, (2, 5), noise=0.5)
    model = fit_booster(codes, factors[:, 0], stages=2, depth=depth)
    expected = reference(codes, factors[:, 0], n_estimators=2, max_depth=depth)
    np.testing.assert_allclose(model.decision_function(codes), expected.decision_function(codes), atol=1e-12)


@pytest.mark.parametrize("digits", [0, 1])
def test_codes_with_equal_values_are_split_half_way_between_them(digits: int):
    # Rounding leaves some 5 or 40 distinct values per code; unrounded samples tell where exactly the cuts are.
    codes, factors = entangled(4000, (3, 4), noise=0.5)
    model = fit_booster(codes.round(digits), factors[:, 0], stages=5)
    expected = reference(codes.round(digits), factors[:, 0], n_estimators=5)
    np.testing.assert_allclose(model.decision_function(codes), expected.decision_function(codes), atol=1e-10)
    np.testing.assert_allclose(model.importances, expected.feature_importances_, atol=1e-3)


def test_values_closer_than_a_ten_millionth_count_as_equal_within_a_node():
    # Spaced by about 1e-8, the values form one chain at the root, but neighbours inside a smaller node lie further
    # apart than 1e-7 and may be separated there: the hard case of the tolerance.
    rng = np.random.default_rng(3)
    labels = rng.integers(3, size=3000)
    codes = np.stack([labels + 0.7 * rng.normal(size=3000), 1e-5 * (labels + 0.5 * rng.normal(size=3000))], axis=1)
    model = fit_booster(codes, labels, stages=8)
    expected = reference(codes, labels, n_estimators=8)
    np.testing.assert_allclose(model.decision_function(codes), expected.decision_function(codes), atol=1e-9)
    np.testing.assert_allclose(model.importances, expected.feature_importances_, atol=1e-6)


def test_a_copied_code_shares_its_importance():
    # The two copies offer the same splits; both libraries pick one of them at random in every node.
    codes, factors = entangled(1000, (4, 3), d=3)
    doubled = np.hstack([codes, codes])
    single = fit_booster(codes, factors[:, 0], stages=40).importances
    both = fit_booster(doubled, factors[:, 0], stages=40).importances
    np.testing.assert_allclose(both[:3] + both[3:], single, atol=0.01)
    np.testing.assert_allclose(both[0] / single[0], 0.5, atol=0.15)
    np.testing.assert_allclose(both, reference(doubled, factors[:, 0], n_estimators=40).feature_importances_, atol=0.1)


def test_constant_codes_get_no_importance_and_leave_the_class_shares():
    codes = np.ones((30, 2))
    labels = np.repeat([0, 1, 2], [15, 10, 5])
    model = fit_booster(codes, labels, stages=5)
    np.testing.assert_array_equal(model.importances, 0)
    # No tree can split; every leaf's Newton step is 0 because the residuals of the shares add up to 0.
    np.testing.assert_allclose(model.predict_proba(codes[:1])[0], [1 / 2, 1 / 3, 1 / 6])


def test_two_samples_are_told_apart():
    model = fit_booster(np.array([[0.0], [1.0]]), np.array([7, 3]))
    np.testing.assert_array_equal(model.predict(np.array([[0.1], [0.49], [0.51]])), [7, 7, 3])


def test_separable_classes_stay_finite_as_in_scikit_learn():
    codes = np.arange(60.0)[:, None]
    labels = np.arange(60) // 6
    model = fit_booster(codes, labels, stages=100)
    assert model.train_accuracy == 1
    assert np.isfinite(model.decision_function(codes)).all()
    expected = reference(codes, labels, n_estimators=100)
    np.testing.assert_allclose(model.predict_proba(codes), expected.predict_proba(codes), atol=1e-6)


def test_a_single_class_is_always_answered():
    model = fit_booster(np.random.default_rng(0).normal(size=(9, 2)), np.full(9, 4))
    np.testing.assert_array_equal(model.predict(np.zeros((3, 2))), 4)
    np.testing.assert_array_equal(model.predict_proba(np.zeros((3, 2))), 1)
    np.testing.assert_array_equal(model.importances, 0)
    assert model.train_accuracy == 1


def test_labels_may_be_any_integers():
    codes, factors = entangled(300, (4, 3))
    shifted = fit_booster(codes, 10 * factors[:, 0] - 7, stages=5)
    np.testing.assert_array_equal(
        shifted.predict(codes), 10 * fit_booster(codes, factors[:, 0], stages=5).predict(codes) - 7
    )


def test_threads_and_repetition_change_nothing():
    codes, factors = entangled(400, (25, 3))
    runs = [fit_booster(codes, factors[:, 0], stages=6, threads=threads) for threads in (1, 1, 3)]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.code, runs[0].code)
        np.testing.assert_array_equal(run.cut, runs[0].cut)
        np.testing.assert_array_equal(run.leaf, runs[0].leaf)
        np.testing.assert_array_equal(run.importances, runs[0].importances)


@pytest.mark.parametrize(
    ("codes", "labels", "options", "message"),
    [
        (np.zeros(4), np.arange(4), {}, "codes must be"),
        (np.zeros((4, 2)), np.arange(3), {}, "labels must have one entry"),
        (np.array([[np.nan], [1.0]]), np.arange(2), {}, "finite"),
        (np.array([[1e39], [1.0]]), np.arange(2), {}, "finite in single precision"),
        (np.zeros((4, 2)), np.arange(4), {"stages": 0}, "stages must be at least 1"),
        (np.zeros((4, 2)), np.arange(4), {"depth": 8}, "depth must be at most 7"),
        (np.zeros((4, 2)), np.arange(4), {"threads": 0}, "threads must be at least 1"),
    ],
)
def test_bad_input_is_named(codes: np.ndarray, labels: np.ndarray, options: dict[str, int], message: str):
    with pytest.raises(UsageError, match=message):
        fit_booster(codes, labels, **options)


def test_prediction_wants_as_many_codes_as_the_fit():
    model = fit_booster(np.random.default_rng(0).normal(size=(9, 2)), np.arange(9) % 2, stages=2)
    with pytest.raises(UsageError, match="3 columns"):
        model.predict(np.zeros((4, 3)))

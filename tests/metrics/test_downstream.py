"""Downstream tasks: learners against scikit-learn, and what happens with very few labels."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_score

from unbraid.errors import UsageError
from unbraid.metrics._logistic_cv import STRENGTHS, fit_logistic_cv
from unbraid.metrics.downstream import downstream


def grid(n: int, sizes: tuple[int, ...], seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(size, size=n) for size in sizes], axis=1)


def noisy(n: int, sizes: tuple[int, ...], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    factors = grid(n, sizes, seed)
    rng = np.random.default_rng(100 + seed)
    codes = np.hstack([factors / np.array(sizes), rng.normal(size=(n, 2))])
    return codes + 0.1 * rng.normal(size=codes.shape), factors


def plain(strength: float) -> LogisticRegression:
    return LogisticRegression(C=strength, solver="lbfgs", tol=1e-7, max_iter=5000)


@pytest.mark.parametrize("size", [2, 4])
def test_logistic_regression_finds_the_weights_of_scikit_learn(size: int):
    codes, factors = noisy(400, (size, 3))
    labels = factors[:, 0]
    model = fit_logistic_cv(codes, labels)
    expected = plain(model.strength).fit(codes, labels)
    weights = np.hstack([expected.coef_, expected.intercept_[:, None]])
    if size == 2:
        weights = np.vstack([-weights, weights]) / 2
    # Equal shifts of all classes' intercepts change nothing; compare what is left.
    ours, theirs = (w - w.mean(axis=0) for w in (model.weights, weights))
    np.testing.assert_allclose(ours, theirs, atol=2e-3 * np.abs(theirs).max())
    np.testing.assert_array_equal(model.predict(codes), expected.predict(codes))


def test_the_penalty_is_the_one_of_best_cross_validated_accuracy():
    codes, factors = noisy(150, (4, 3))
    codes[:, 1:] *= 3  # large useless codes make a strong penalty harmful and a weak one risky
    labels = factors[:, 0]
    accuracy = [cross_val_score(plain(c), codes, labels, cv=KFold(5), scoring="accuracy").mean() for c in STRENGTHS]
    chosen = int(np.flatnonzero(fit_logistic_cv(codes, labels).strength == STRENGTHS)[0])
    assert chosen == int(np.argmax(accuracy))


def test_folds_that_miss_a_class_do_no_harm():
    # Sorted labels: the first and last fold each hold a class that the rest never sees.
    labels = np.repeat([0, 1, 2], [4, 12, 4])
    codes = labels[:, None] + 0.1 * np.random.default_rng(0).normal(size=(20, 1))
    assert np.mean(fit_logistic_cv(codes, labels).predict(codes) == labels) >= 0.6


def test_one_class_is_always_answered():
    model = fit_logistic_cv(np.random.default_rng(0).normal(size=(6, 2)), np.full(6, 9))
    np.testing.assert_array_equal(model.predict(np.zeros((2, 2))), 9)


def test_boosted_trees_read_identity_codes_from_a_thousand_labels():
    sizes = (3, 6, 10)
    score = downstream(grid(1000, sizes), grid(1000, sizes), test=(grid(500, sizes, 1), grid(500, sizes, 1)))
    assert score.settings["sizes"] == [10, 100, 1000]
    assert score.value >= 0.95
    assert score.value == score.parts["gbt"]["mean_test"][-1]
    # On a perfect code the value is its own ceiling.
    assert score.ceiling == pytest.approx(score.value)
    assert np.isnan(score.parts["gbt"]["efficiency"])


def test_efficiency_compares_a_hundred_labels_with_ten_thousand():
    sample = noisy(10_000, (4,))
    score = downstream(*sample, test=noisy(1000, (4,), 1), sizes=(100, 10_000), learners=("lr",))
    few, many = score.parts["lr"]["mean_test"]
    assert score.parts["lr"]["efficiency"] == few / many
    assert 0 < few / many <= 1.05


@pytest.mark.parametrize("learner", ["lr", "gbt", "hist"])
def test_ten_labels_suffice_to_run_on_forty_values(learner: str):
    codes, factors = noisy(200, (40, 2))
    score = downstream(codes, factors, test=noisy(100, (40, 2), 1), sizes=(1, 10), learners=(learner,))
    part = score.parts[learner]
    assert part["test"].shape == part["train"].shape == (2, 2)
    # One label per factor: both learners can only repeat it.
    np.testing.assert_array_equal(part["train"][0], 1)
    np.testing.assert_allclose(part["mean_test"], part["test"].mean(axis=1))
    np.testing.assert_allclose(part["min_test"], part["test"].min(axis=1))


def test_the_same_seed_gives_the_same_accuracies():
    sample = noisy(120, (3, 4))
    runs = [downstream(*sample, sizes=(10, 50), seed=seed).parts["gbt"]["test"] for seed in (1, 1, 2)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0] != runs[2]).any()


def test_wrong_learners_and_sizes_are_named():
    sample = noisy(60, (3, 4))
    with pytest.raises(UsageError, match="unknown learner 'gbd'; did you mean 'gbt'"):
        downstream(*sample, learners=("gbd",))
    with pytest.raises(UsageError, match="between 1 and the 40 training samples"):
        downstream(*sample, sizes=(10, 1000))


@pytest.mark.parametrize("scale", [0.0, 1e-9, 1e6, 1e12])
def test_codes_of_any_scale_can_be_fitted(scale: float):
    codes, factors = noisy(60, (4, 3))
    codes[:, 0] *= scale
    score = downstream(codes, factors, sizes=(10, 40))
    assert 0 < score.value <= score.ceiling == 1


def test_separable_classes_raise_no_warning():
    codes = np.arange(50.0)[:, None] * [[1.0, 0.0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit_logistic_cv(codes[::-1], np.arange(50) % 2)
    assert np.isfinite(model.weights).all()

import numpy as np
import pytest
from metric_toys import draws
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from unbraid.metrics._logistic import fit_logistic, log_probabilities


def reference(features: np.ndarray, labels: np.ndarray, c: float, balanced: bool) -> np.ndarray:
    model = LogisticRegression(C=c, class_weight="balanced" if balanced else None, tol=1e-10, max_iter=100_000)
    return np.log(model.fit(features, labels).predict_proba(features))


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize(("classes", "c"), [(2, 1.0), (2, 100.0), (3, 1.0), (12, 1.0), (12, 100.0)])
def test_probabilities_equal_scikit_learn(classes, c, balanced):
    rng = np.random.default_rng(classes)
    labels = np.concatenate([np.arange(classes), rng.integers(0, classes, 500) ** 2 // classes])
    features = np.column_stack([labels / classes, -labels, np.zeros(len(labels))]) + rng.normal(size=(len(labels), 3))
    guess = log_probabilities(fit_logistic(features, labels, c=c, balanced=balanced), features)
    np.testing.assert_allclose(np.exp(guess), np.exp(reference(features, labels, c, balanced)), atol=2e-4)


def test_more_samples_than_the_preconditioner_sees_do_not_change_the_answer():
    labels = draws((5,), 6_000)[:, 0]
    features = labels[:, None] + np.random.default_rng(0).normal(size=(6_000, 2))
    guess = log_probabilities(fit_logistic(features, labels, c=1.0), features)
    np.testing.assert_allclose(np.exp(guess), np.exp(reference(features, labels, 1.0, False)), atol=2e-4)


def test_many_classes_and_codes_take_the_path_with_blocks():
    labels = np.repeat(np.arange(80), 2)
    features = np.random.default_rng(0).normal(size=(160, 50)) + labels[:, None] / 30
    guess = log_probabilities(fit_logistic(features, labels, c=0.01), features)
    np.testing.assert_allclose(np.exp(guess), np.exp(reference(features, labels, 0.01, False)), atol=2e-4)


def test_the_gradient_vanishes_even_for_collinear_codes_and_separable_classes():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(6), 50)
    line = labels + 0.1 * rng.random(300)
    features = np.column_stack([line, line + 1e-6 * rng.normal(size=300), np.ones(300)])
    weights = fit_logistic(features, labels, c=1_000.0)
    scores = features @ weights[:, :-1].T + weights[:, -1]
    error = np.exp(log_softmax(scores, axis=1)) - np.eye(6)[labels]
    gradient = np.column_stack([error.T @ features + weights[:, :-1] / 1_000, error.sum(axis=0)])
    assert np.abs(gradient).max() / 300 < 1e-6


def test_constant_codes_give_the_frequencies():
    labels = np.repeat([0, 1, 2], [10, 20, 70])
    guess = log_probabilities(fit_logistic(np.zeros((100, 2)), labels, c=1.0), np.zeros((1, 2)))
    np.testing.assert_allclose(np.exp(guess), [[0.1, 0.2, 0.7]], atol=1e-5)


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e6, 1e60])
def test_the_scale_and_offset_of_a_code_only_change_what_the_penalty_makes_of_it(scale):
    # With x' = s x + o the penalty on w' = w / s is that on w divided by s^2: equal to c' = c / s^2 where s is common.
    labels = draws((4,), 400)[:, 0]
    features = np.column_stack([labels, -labels]) + np.random.default_rng(0).normal(size=(400, 2))
    guess = log_probabilities(fit_logistic(features, labels, c=1.0), features)
    moved = scale * (features + 3)
    again = log_probabilities(fit_logistic(moved, labels, c=scale**-2.0), moved)
    np.testing.assert_allclose(np.exp(again), np.exp(guess), atol=1e-4)
    mixed = np.column_stack([features[:, 0], moved[:, 1]])
    assert np.isfinite(log_probabilities(fit_logistic(mixed, labels, c=1.0), mixed)).all()


def test_blocks_of_the_hessian_find_the_same_answer():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 6, 400)
    features = np.eye(8)[(labels + rng.integers(0, 3, 400)) % 8]
    whole, blocks = (fit_logistic(features, labels, c=10.0, balanced=True, whole=size) for size in (4_000, 0))
    np.testing.assert_allclose(log_probabilities(blocks, features), log_probabilities(whole, features), atol=1e-4)

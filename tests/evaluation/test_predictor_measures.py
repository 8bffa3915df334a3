"""Accuracy and R²: by hand, against other implementations, and on trained runs."""

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics

import unbraid
from unbraid.data import from_arrays
from unbraid.errors import UsageError
from unbraid.evaluation import Predictions, accuracy, factor_variances, measure, predict_factors, wilson
from unbraid.objectives import Classifier, Regressor


def test_accuracy_and_its_parts_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    truth, outputs = rng.integers(4, size=300), rng.normal(size=(300, 4))
    outputs[np.arange(300), truth] += 1
    score = accuracy(Predictions(np.arange(300), outputs, truth))
    guess = outputs.argmax(1)
    assert float(score) == sklearn.metrics.accuracy_score(truth, guess)
    np.testing.assert_array_equal(score.parts["confusion"], sklearn.metrics.confusion_matrix(truth, guess))
    recalls = sklearn.metrics.recall_score(truth, guess, average=None)
    np.testing.assert_allclose(score.parts["per_class"], recalls)


def test_cross_entropy_is_that_of_scikit_learn_and_survives_large_scores():
    rng = np.random.default_rng(0)
    truth, outputs = rng.integers(3, size=50), rng.normal(size=(50, 3)).astype(np.float32)
    p = np.exp(outputs.astype(float))
    found = Predictions(np.arange(50), outputs, truth).cross_entropy
    assert found.mean() == pytest.approx(sklearn.metrics.log_loss(truth, p / p.sum(1, keepdims=True)))
    assert Predictions(np.arange(1), np.array([[1e4, 0.0]]), np.array([1])).cross_entropy[0] == pytest.approx(1e4)


def test_a_class_that_does_not_occur_has_no_accuracy():
    score = accuracy(Predictions(np.arange(2), np.eye(3)[:2], np.array([0, 1])))
    assert score.parts["per_class"][:2].tolist() == [1, 1]
    assert np.isnan(score.parts["per_class"][2])


@pytest.mark.parametrize(("right", "n"), [(0, 10), (10, 10), (7, 10), (981, 1000)])
def test_the_interval_is_wilsons(right, n):
    expected = scipy.stats.binomtest(right, n).proportion_ci(0.95, method="wilson")
    assert wilson(right, n) == pytest.approx((expected.low, expected.high))


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    from dots import Dots

    objective = Classifier(factor="y", net="mlp:width=32", learning_rate=3e-3)
    return unbraid.train(objective, Dots(), steps=150, out=tmp_path_factory.mktemp("runs") / "c", progress="none")


@pytest.fixture(scope="module")
def regressor(tmp_path_factory):
    from dots import Dots

    objective = Regressor(net="mlp:width=32", learning_rate=3e-3)
    return unbraid.train(objective, Dots(), steps=150, out=tmp_path_factory.mktemp("runs") / "r", progress="none")


def test_the_accuracy_of_a_run_is_stored_with_it(classifier, dots):
    found = measure(classifier, dots, "accuracy,r2,disentanglement")
    assert list(found) == ["accuracy"]  # it predicts classes, not factors, and has no codes
    scores = found["accuracy"].scores()
    index = np.arange(len(dots))
    right = classifier.predict(dots.images(index)).argmax(1) == dots.factors(index)[:, 1]
    assert float(scores["accuracy"]) == right.mean()
    assert scores["accuracy"].settings["images"] == 144
    path = found["accuracy"].path
    assert path.exists()
    assert measure(classifier, dots, "accuracy")["accuracy"].scores()["accuracy"].value == right.mean()


def test_few_images_are_drawn_without_repetition_and_by_the_seed(classifier, dots):
    def confusion(seed):
        score = measure(classifier, dots, "accuracy:images=100", seed=seed)["accuracy"].scores()["accuracy"]
        return np.array(score.parts["confusion"])

    assert confusion(0).sum() == 100
    assert confusion(0).sum(axis=1).max() <= 12  # there are twelve images of each
    assert (confusion(0) != confusion(1)).any()


def test_r2_of_a_run_is_that_of_scikit_learn_on_the_whole_grid(regressor, dots):
    # On the whole grid the variance of the truth is that of evenly spaced values, which is what the measure divides by.
    scores = measure(regressor, dots, "r2")["r2"].scores()
    score = scores["r2"]
    found = predict_factors(regressor, dots, images=1000, seed=0)
    # The loss of training sums over factors and is called squared_error; this one is scikit-learn's mean.
    assert scores["mean_squared_error"] == pytest.approx(sklearn.metrics.mean_squared_error(found.truth, found.outputs))
    assert "squared_error" not in scores
    expected = sklearn.metrics.r2_score(found.truth, found.outputs, multioutput="raw_values")
    np.testing.assert_allclose(score.parts["per_factor"], expected, rtol=1e-6)
    assert float(score) == pytest.approx(expected.mean())


def test_r2_on_a_part_keeps_the_variance_of_the_grid(regressor, dots):
    part = dots.part(np.arange(24))  # two of twelve values of the first factor
    np.testing.assert_allclose(factor_variances(regressor, part), [13 / (12 * 11)] * 2)
    score = measure(regressor, part, "r2")["r2"].scores()["r2"]
    found = predict_factors(regressor, part, images=1000, seed=0)
    errors = ((found.outputs - found.truth) ** 2).mean(axis=0)
    np.testing.assert_allclose(score.parts["per_factor"], 1 - errors / (13 / 132), rtol=1e-6)


def test_a_function_can_be_asked_for_its_accuracy():
    images, labels = np.zeros((30, 8, 8, 1), np.uint8), np.arange(30) % 3
    images[..., 0] = labels[:, None, None]
    data = from_arrays(images, labels=labels)

    def always_one(batch):
        return np.tile([0.0, 1.0, 0.0], (len(batch), 1))

    def knows(batch):
        return np.eye(3)[batch[:, 0, 0, 0]]

    assert float(measure(always_one, data, "accuracy")["accuracy"].scores()["accuracy"]) == pytest.approx(1 / 3)
    assert float(measure(knows, data, "accuracy")["accuracy"].scores()["accuracy"]) == 1


def test_other_classes_and_factors_are_refused(classifier, regressor, dots):
    few = from_arrays(np.zeros((5, 16, 16, 1), np.uint8), labels=np.arange(5))
    assert measure(classifier, few, "accuracy") == {}  # no factor y
    assert measure(regressor, few, "r2") == {}
    with pytest.raises(UsageError, match="trained for other classes"):
        measure(lambda batch: np.zeros((len(batch), 3)), few, "accuracy")
    with pytest.raises(UsageError, match="images must be at least 1"):
        measure(classifier, dots, "accuracy:images=0")

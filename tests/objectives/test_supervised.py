"""Classifiers and regressors: losses by hand, targets, predictions, what they refuse."""

import numpy as np
import pytest
import torch
from torch import nn

import unbraid
from unbraid.data import from_arrays
from unbraid.errors import UsageError
from unbraid.nets import Predictor
from unbraid.objectives import Classifier, Inputs, Problem, Regressor
from unbraid.objectives.tasks import true_classes

NOISE = torch.Generator()


class Fixed(nn.Module):
    """Gives the same outputs for every batch."""

    def __init__(self, outputs):
        super().__init__()
        self.outputs = torch.tensor(outputs)

    def forward(self, images):
        return self.outputs


def images(n):
    return torch.zeros(n, 1, 8, 8)


def test_cross_entropy_and_accuracy_by_hand():
    # Scores log(3), 0, 0 are probabilities 3/5, 1/5, 1/5: the losses are log(5/3) and log 5; one of two is right.
    model = Predictor(Fixed([[np.log(3), 0.0, 0.0]] * 2), Problem((8, 8, 1), 10, classes=3))
    terms = Classifier().loss(model, Inputs(images(2), labels=torch.tensor([0, 2])), 0, NOISE)
    assert terms.total.item() == pytest.approx((np.log(5 / 3) + np.log(5)) / 2)
    assert terms.watched["accuracy"].item() == 0.5


def test_a_factor_can_be_the_class():
    problem = Problem((8, 8, 1), 12, factor_sizes=(3, 4), factor_names=("shape", "x"))
    objective = Classifier(factor="x")
    assert objective.outputs(problem) == 4
    factors = torch.tensor([[0, 3], [2, 1]])
    (task,) = objective.tasks(problem)
    assert true_classes(task, problem, Inputs(images(2), factors=factors), "classifier").tolist() == [3, 1]
    # Labels are other classes: they do not stand in for a factor that is missing.
    with pytest.raises(UsageError, match="with factor 'x' needs a stream with the factors"):
        true_classes(task, problem, Inputs(images(2), labels=torch.tensor([0, 1])), "classifier")


def test_squared_error_and_r2_by_hand():
    # Targets are 2/2, 0 and 1/2, 3/3; errors of the factors: (0.5, 0), (0, 1). Summed over them and averaged
    # over the batch: (0.25 + 0 + 0 + 1) / 2. Variances of three and four even steps in [0, 1] are 1/6 and 5/36.
    problem = Problem((8, 8, 1), 12, factor_sizes=(3, 4), factor_names=("a", "b"))
    model = Predictor(Fixed([[0.5, 0.0], [0.5, 0.0]]), problem)
    terms = Regressor().loss(model, Inputs(images(2), factors=torch.tensor([[2, 0], [1, 3]])), 0, NOISE)
    assert terms.total.item() == pytest.approx(1.25 / 2)
    assert terms.watched["r2"].item() == pytest.approx(np.mean([1 - 0.125 / (1 / 6), 1 - 0.5 / (5 / 36)]))


@pytest.mark.parametrize("size", [2, 3, 4, 6, 8, 10, 15, 32, 40, 1000])
def test_the_variance_is_that_of_even_steps(size):
    problem = Problem((8, 8, 1), size, factor_sizes=(size,), factor_names=("a",))
    assert Regressor().variances(problem, torch.zeros(1)).item() == pytest.approx(np.linspace(0, 1, size).var())


def test_measured_factors_are_scaled_by_their_range():
    problem = Problem((8, 8, 1), 5, factor_names=("a", "b"), factor_ranges=((-1.0, 3.0), (1e8, 1e8 + 10)))
    factors = torch.tensor([[-1.0, 1e8 + 5], [3.0, 1e8 + 10], [1.0, 1e8]], dtype=torch.float64)
    targets = Regressor().targets(problem, Inputs(images(3), factors=factors))
    torch.testing.assert_close(targets, torch.tensor([[0.0, 0.5], [1.0, 1.0], [0.5, 0.0]]))


def test_a_factor_that_never_changes_counts_for_nothing():
    problem = Problem((8, 8, 1), 3, factor_sizes=(1, 3), factor_names=("a", "b"))
    model = Predictor(Fixed([[0.0, 0.0], [0.0, 0.5], [0.0, 1.0]]), problem)
    terms = Regressor().loss(model, Inputs(images(3), factors=torch.tensor([[0, 0], [0, 1], [0, 2]])), 0, NOISE)
    assert terms.total.item() == 0
    assert terms.watched["r2"].item() == 1


def test_weight_decay_shrinks_what_no_gradient_moves():
    problem = Problem((8, 8, 1), 10, classes=2)
    objective = Classifier(net="mlp:width=4", weight_decay=0.1, learning_rate=0.5)
    model = objective.build(problem, torch.Generator().manual_seed(0))
    before = [p.detach().clone() for p in model.parameters()]
    optimizer = objective.optimizers(model)["model"]
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    for old, new in zip(before, model.parameters(), strict=True):
        torch.testing.assert_close(new.detach(), old * (1 - 0.5 * 0.1))


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    from dots import Dots

    objective = Classifier(factor="x", net="cnn:width=8", learning_rate=3e-3)
    return unbraid.train(objective, Dots(), steps=200, out=tmp_path_factory.mktemp("run") / "a", progress="none")


@pytest.fixture(scope="module")
def regressor(tmp_path_factory):
    from dots import Dots

    objective = Regressor(net="mlp:width=64", learning_rate=3e-3)
    return unbraid.train(objective, Dots(), steps=200, out=tmp_path_factory.mktemp("run") / "a", progress="none")


def test_a_classifier_learns(classifier, dots):
    index = np.arange(len(dots))
    scores = classifier.predict(dots.images(index), batch_size=50)
    assert scores.shape == (144, 12)
    assert (scores.argmax(1) == dots.space.factors(index)[:, 0]).mean() > 0.9
    assert classifier.history()["accuracy"][-1] > 0.9


def test_gradients_flow_through_the_classifier_to_images_only(classifier, dots):
    classify = classifier.classifier()
    x = (torch.from_numpy(dots.images([3, 7])).permute(0, 3, 1, 2) / 255).requires_grad_()
    scores = classify(x)
    np.testing.assert_allclose(scores.detach().numpy(), classifier.predict(dots.images([3, 7])), atol=1e-4)
    (gradient,) = torch.autograd.grad(scores[:, 0].sum(), x, create_graph=True)
    assert gradient.abs().amax((1, 2, 3)).min() > 0
    assert not any(p.requires_grad for p in classify.parameters())
    assert not classify.train().training
    # The derivative by finite differences along a random direction, in double precision.
    exact, direction = classify.double(), torch.randn(2, 1, 16, 16, dtype=torch.float64)
    at = x.detach().double().requires_grad_()
    slope = (torch.autograd.grad(exact(at)[:, 0].sum(), at)[0] * direction).sum()
    with torch.no_grad():
        difference = (exact(at + 1e-6 * direction) - exact(at - 1e-6 * direction))[:, 0].sum() / 2e-6
    torch.testing.assert_close(difference, slope, rtol=1e-3, atol=1e-6)


def test_only_images_as_the_networks_see_them_are_classified(regressor, dots):
    # A fully connected network would take pixels in any order.
    classify, seen = regressor.classifier(), dots.images([3, 7])
    for wrong, words in (
        (torch.zeros(2, 16, 16, 1), r"float32 \[n, 1, 16, 16\], got float32 \[2, 16, 16, 1\]; channels come first"),
        (torch.zeros(1, 16, 16), r"got float32 \[1, 16, 16\]"),
        (torch.from_numpy(seen).permute(0, 3, 1, 2), r"must be float32 .*, got uint8"),
        (torch.zeros(2, 1, 16, 16, dtype=torch.float64), r"must be float32 .*, got float64"),
        (np.zeros((2, 1, 16, 16), np.float32), "images must be a tensor, got ndarray"),
    ):
        with pytest.raises(UsageError, match=words):
            classify(wrong)
    for wrong in (seen.tolist(), torch.from_numpy(seen)):
        with pytest.raises(UsageError, match=r"images must be a numpy array, got (list|Tensor)"):
            regressor.predict(wrong)


def test_the_runs_own_model_is_not_frozen_by_it(classifier):
    classifier.classifier()
    assert all(p.requires_grad for p in classifier.model.parameters())


def test_a_regressor_answers_in_factor_units(regressor, dots):
    index = np.arange(len(dots))
    factors = dots.space.factors(index)
    scaled, units = regressor.predict(dots.images(index)), regressor.regress(dots.images(index))
    np.testing.assert_allclose(units, scaled * 11, rtol=1e-6)  # both factors have twelve values
    assert np.abs(units - factors).mean() < 1
    assert regressor.history()["r2"][-1] > 0.8


def test_predictors_that_cannot_be_trained_say_why(dots, tmp_path, classifier):
    plain = from_arrays(np.zeros((20, 8, 8, 1), np.uint8))
    with pytest.raises(UsageError, match=r"needs data with classes.*--factor NAME makes one of its factors.*x, y"):
        unbraid.train("classifier", dots, steps=1, out=tmp_path / "a", progress="none")
    with pytest.raises(UsageError, match=r"needs data with classes.*unbraid data list"):
        unbraid.train("classifier", plain, steps=1, out=tmp_path / "b", progress="none")
    with pytest.raises(UsageError, match="unknown factor 'z'"):
        unbraid.train(Classifier(factor="z"), dots, steps=1, out=tmp_path / "c", progress="none")
    with pytest.raises(UsageError, match="no known factors"):
        unbraid.train(Classifier(factor="z"), plain, steps=1, out=tmp_path / "d", progress="none")
    with pytest.raises(UsageError, match=r"needs data with known factors"):
        unbraid.train("regressor", plain, steps=1, out=tmp_path / "e", progress="none")
    with pytest.raises(UsageError, match="was measured and has no classes"):
        Classifier(factor="a").outputs(Problem((8, 8, 1), 3, factor_names=("a",), factor_ranges=((0, 1),)))
    with pytest.raises(UsageError, match="does not predict factors"):
        classifier.regress(dots.images([0]))


def test_only_predictors_are_classifiers(tmp_path, dots):
    run = unbraid.train("ae", dots, steps=1, out=tmp_path, progress="none")
    with pytest.raises(UsageError, match="'ae' does not predict"):
        run.classifier()

"""Networks that answer several questions: losses and gradients by hand, predictions, measures, pages."""

import numpy as np
import pytest
import torch
from torch import nn

import unbraid
from unbraid import generalization, objectives
from unbraid.data import Card, FactorDataset, FactorSpace, from_arrays, load, register, split
from unbraid.errors import UsageError, UsageWarning
from unbraid.evaluation import measure
from unbraid.nets import Predictor
from unbraid.objectives import Classifier, Inputs, Problem, Supervised, Task
from unbraid.report.page import make_report

NOISE = torch.Generator()
PROBLEM = Problem(
    (8, 8, 1), 12, 2, (3, 4), ("shape", "x"), factor_kinds=("categorical", "ordinal")
)  # two classes of its own


class Given(nn.Module):
    """Outputs that are parameters, so that gradients can be looked at."""

    def __init__(self, outputs):
        super().__init__()
        self.outputs = nn.Parameter(torch.tensor(outputs, dtype=torch.float32))

    def forward(self, images):
        return self.outputs


def batch(**known):
    return Inputs(torch.zeros(2, 1, 8, 8), **known)


@register("marks")
class Marks(FactorDataset):
    """Three kinds of marks at four places."""

    name, shape, card = "marks", (8, 8, 1), Card("marks")
    space = FactorSpace(("shape", "x"), (3, 4), ("categorical", "ordinal"))

    def images(self, index, rng=None):
        del rng
        kind, place = self.space.factors(index).T
        found = np.zeros((len(kind), 8, 8, 1), np.uint8)
        for image, k, x in zip(found, kind, place, strict=True):
            image[: 2 + 2 * k, 2 * x : 2 * x + 2] = 255
        return found


@pytest.mark.parametrize(
    ("factor", "tasks"),
    [
        ("", (Task("class", "classes", 2),)),
        ("x", (Task("x", "classes", 4, "x"),)),
        ("x+shape", (Task("x", "classes", 4, "x"), Task("shape", "classes", 3, "shape"))),
        ("categorical", (Task("shape", "classes", 3, "shape"),)),
    ],
)
def test_what_is_named_follows_from_the_option(factor, tasks):
    assert Classifier(factor=factor).tasks(PROBLEM) == tasks
    assert Supervised(factor=factor).tasks(PROBLEM) == (Task("factors", "factors", 2), *tasks)
    assert Supervised(factor=factor).outputs(PROBLEM) == 2 + sum(task.size for task in tasks)


def test_cross_entropies_of_several_factors_add_up():
    # shape: scores log 3, 0, 0 are 3/5, 1/5, 1/5; x: four equal scores are 1/4 each. Truth: shape 0 and 2, x 1 and 0.
    model = Predictor(Given([[np.log(3), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]] * 2), PROBLEM)
    terms = Classifier(factor="shape+x").loss(model, batch(factors=torch.tensor([[0, 1], [2, 0]])), 0, NOISE)
    assert terms.total.item() == pytest.approx((np.log(5 / 3) + np.log(5)) / 2 + np.log(4))
    assert terms.watched["accuracy"].item() == pytest.approx((1 / 2 + 1 / 2) / 2)  # the first of equal scores is named


def test_factors_and_class_are_learnt_together_by_hand_and_autograd():
    # Factors: targets (1, 0) and (0.5, 1), outputs (0.5, 0) and (0.5, 0): (0.25 + 1) / 2. Classes: scores 0, log 3 are
    # 1/4 and 3/4, truth 1 and 0: (log(4/3) + log 4) / 2, twice as heavy.
    outputs = [[0.5, 0.0, 0.0, np.log(3)]] * 2
    model = Predictor(Given(outputs), PROBLEM)
    inputs = batch(factors=torch.tensor([[2, 0], [1, 3]]), labels=torch.tensor([1, 0]))
    terms = Supervised(weight=2.0).loss(model, inputs, 0, NOISE)
    assert terms.terms["squared_error"].item() == pytest.approx(1.25 / 2)
    assert terms.terms["cross_entropy"].item() == pytest.approx(np.log(4 / 3) + np.log(4))
    assert terms.watched["accuracy"].item() == 0.5
    assert terms.watched["r2"].item() == pytest.approx(np.mean([1 - 0.125 * 6, 1 - 0.5 * 36 / 5]))
    terms.total.backward()
    # d(f - t)^2 / n = f - t for two images; of the cross-entropy 2 (p - truth) / 2.
    expected = [[-0.5, 0.0, 0.25, -0.25], [0.0, -1.0, -0.75, 0.75]]
    torch.testing.assert_close(model.net.outputs.grad, torch.tensor(expected))


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    objective = Supervised(factor="categorical", net="mlp:width=64", learning_rate=3e-3)
    return unbraid.train(
        objective, load("marks"), steps=400, out=tmp_path_factory.mktemp("runs") / "both", progress="none"
    )


def test_a_run_answers_both(both):
    data = Marks()
    images, factors = data.images(np.arange(12)), data.factors(np.arange(12))
    assert [task.name for task in both.tasks()] == ["factors", "shape"]
    np.testing.assert_allclose(both.regress(images), factors, atol=0.3)
    np.testing.assert_allclose(both.predict(images, task="factors"), both.predict(images))
    assert (both.predict(images, task="shape").argmax(1) == factors[:, 0]).all()
    seen = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255
    torch.testing.assert_close(both.classifier()(seen), torch.from_numpy(both.predict(images, task="shape")))
    torch.testing.assert_close(both.classifier("factors")(seen), torch.from_numpy(both.predict(images)))
    with pytest.raises(UsageError, match="unknown task of both: 'shap'; did you mean 'shape'"):
        both.predict(images, task="shap")


def test_measures_and_the_benchmark_take_it(both):
    data = Marks()
    found = measure(both, data, ["accuracy", "r2"])
    assert found["accuracy"].scores()["accuracy"].value == 1
    assert found["r2"].scores()["r2"].value > 0.9
    with pytest.warns(UsageWarning, match="without a split"):
        answers = generalization.evaluate(both, data, split(data, {"x": {"test_only": [3]}}))
    assert answers.scores.r2.shape == (2,)
    assert answers.scores.mean > 0.9


def test_its_page_shows_both(both):
    page = make_report([both.path])
    for heading in ("Predictions of factors", "Predictions of shape", "Worst images of factors"):
        assert f"<h2>{heading}</h2>" in page
    assert "R² of each factor" in page
    assert "Accuracy of each class" in page


def test_a_row_of_accuracy_for_each_factor(tmp_path):
    run = unbraid.train(
        Classifier(factor="x+shape", net="mlp:width=64", learning_rate=3e-3),
        load("marks"),
        steps=300,
        out=tmp_path / "run",
        progress="none",
    )
    found = measure(run, Marks(), "accuracy")["accuracy"]
    assert [condition for condition, _ in found.rows] == [{"factor": "x"}, {"factor": "shape"}]
    assert found.scores(factor="shape")["accuracy"].parts["confusion"].shape == (3, 3)
    only = measure(run, Marks(), "accuracy:factor=shape")["accuracy"].scores()["accuracy"]
    assert only.value == found.scores(factor="shape")["accuracy"].value == 1
    assert "<h2>Predictions of shape</h2>" in make_report([run.path])


def test_both_needs_both(tmp_path):
    images = np.zeros((6, 8, 8, 1), np.uint8)
    with pytest.raises(UsageError, match="'supervised' needs data with classes"):
        unbraid.train("supervised", Marks(), steps=1, out=tmp_path / "a", progress="none")
    with pytest.raises(UsageError, match="'supervised' needs data with known factors"):
        unbraid.train("supervised", from_arrays(images, labels=np.arange(6) % 2), steps=1, out=tmp_path / "b")
    with pytest.raises(UsageError, match="'categorical': none of x is without an order"):
        Classifier(factor="categorical").tasks(Problem((8, 8, 1), 4, None, (4,), ("x",), factor_kinds=("ordinal",)))
    with pytest.raises(UsageError, match="names a factor twice"):
        Classifier(factor="x+x").tasks(PROBLEM)
    assert objectives.make("beta-vae").tasks(PROBLEM) == ()


def test_accuracy_of_a_factor_that_none_of_several_heads_names_is_refused(tmp_path):
    data = load("mini-sprites")
    options = {"net": "mlp:width=8", "factor": "x+shape", "progress": "none"}
    run = unbraid.train("classifier", data, out=tmp_path / "run", steps=1, **options)
    assert len(measure(run, data, "accuracy:factor=shape")["accuracy"].rows) == 1
    with pytest.raises(UsageError, match=r"factor that the run names.*'y'.*shape"):
        measure(run, data, "accuracy:factor=y")

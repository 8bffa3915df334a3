"""Any model through the benchmark: functions, modules and runs."""

import numpy as np
import pytest
import torch
from torch import nn

from unbraid.data import load, split
from unbraid.errors import UsageError
from unbraid.generalization import clamp, evaluate, targets
from unbraid.training import train

DATA = load("mini-sprites")
EVERY = DATA.images(np.arange(len(DATA)))


def knows(factors_of):
    """A predictor that recognises every image and says what a function makes of its factors."""
    places = {image.tobytes(): k for k, image in enumerate(EVERY)}

    def predict(images):
        return factors_of(DATA.factors([places[image.tobytes()] for image in images]))

    return predict


def test_the_truth_is_perfect_on_every_split():
    for kind in ("random", "composition", "interpolation", "extrapolation"):
        answers = evaluate(knows(lambda factors: targets(factors, DATA.space)), DATA, kind)
        assert answers.scores.mean == answers.trained.mean == 1
        assert answers.scores.images == len(answers.split.test)


def test_the_clamped_truth_scores_as_the_baseline_does():
    halves = split(DATA, "extrapolation")
    answers = evaluate(knows(lambda factors: clamp(factors, DATA.space, halves.unseen)), DATA, halves)
    np.testing.assert_allclose(answers.scores.r2, answers.baselines["clamp"].r2)
    assert set(answers.modularity()["id"]) == {1.0}
    assert answers.trust_range()["steps"].to_list() == [0, 0, 0]
    assert answers.towards_mean()["share"].max() < 1
    parts = answers.error_parts().filter(where="seen")
    assert parts["shrinkage"].max() < 1e-12
    table = answers.table()
    assert table.columns == ["factor", "test", "train", "constant", "train-mean", "clamp"]
    np.testing.assert_allclose(table["test"], table["clamp"])


def test_a_module_and_its_function_are_the_same_model():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Flatten(), nn.Linear(EVERY[0].size, 4))

    def function(images):
        with torch.no_grad():
            return module(torch.from_numpy(images).permute(0, 3, 1, 2) / 255).numpy()

    by_module, by_function = evaluate(module, DATA, images=50), evaluate(function, DATA, images=50)
    np.testing.assert_allclose(by_module.test[0], by_function.test[0], rtol=1e-5)
    assert len(by_module.test[0]) == 50


def test_a_run_trained_on_the_seen_side_is_asked_about_the_other(tmp_path):
    halves = split(DATA, "extrapolation")
    run = train("regressor", halves.train, out=tmp_path / "run", steps=30, net="mlp:width=16")
    answers = evaluate(run, DATA, halves)
    index = np.arange(len(halves.test))
    np.testing.assert_allclose(answers.test[0], run.predict(halves.test.images(index)), atol=1e-6)
    np.testing.assert_array_equal(answers.test[1], halves.test.factors(index))
    assert answers.scores.mean < 1
    autoencoder = train("beta-vae", halves.train, out=tmp_path / "vae", steps=2, net="mlp:width=16")
    with pytest.raises(UsageError, match=r"does not predict factors.*regressor"):
        evaluate(autoencoder, DATA, halves)


def test_wrong_answers_name_the_factor():
    with pytest.raises(UsageError, match=r"\[4096, 4\]|\[\d+, 4\].*shape, scale, x, y"):
        evaluate(lambda images: np.zeros((len(images), 3)), DATA)
    with pytest.raises(UsageError, match="'scale' holds"):
        evaluate(lambda images: np.array([[0, np.nan, 0, 0]] * len(images)), DATA)
    with pytest.raises(UsageError, match="the split is of"):
        evaluate(lambda images: np.zeros((len(images), 4)), DATA, split(load("sprites16"), "random"))
    with pytest.raises(UsageError, match="images must be at least 1"):
        evaluate(lambda images: np.zeros((len(images), 4)), DATA, images=0)

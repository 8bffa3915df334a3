"""Scores from a few labels, and which images are labelled."""

import math

import numpy as np
import pytest

import unbraid
from unbraid.data import FewLabelsStream, load
from unbraid.errors import UsageError
from unbraid.evaluation import make, measure, validation_scores
from unbraid.evaluation.validation import _labelled
from unbraid.metrics import dci, mig, sap
from unbraid.objectives import S2BetaVAE

SMALL = {"net": "mlp:width=16", "latents": 3}


def train(objective, data, folder):
    return unbraid.train(objective, data, steps=2, batch_size=16, out=folder, progress="none")


def rows_of(run, data, asked):
    return {(c["labels"], c["labeller"]): scores for c, scores in measure(run, data, asked)["validation"].rows}


def test_all_labels_give_the_score_of_the_whole_data_set(dots, tmp_path):
    run = train("vae", dots, tmp_path)
    index = np.arange(len(dots))
    found = rows_of(run, dots, "validation:labels=144,metrics=mig")[144, "exact"]
    assert float(found["validation_mig"]) == pytest.approx(
        float(mig(run.encode(dots.images(index)), dots.factors(index))), rel=1e-6
    )


def test_counting_sees_all_and_fitting_the_first_nine_tenths():
    rng = np.random.default_rng(0)
    codes, labels = rng.normal(size=(200, 3)), rng.integers(4, size=(200, 2))
    codes[:, 0] += labels[:, 1]
    found = validation_scores(codes, labels, seed=3)
    first, last = (codes[:180], labels[:180]), (codes[180:], labels[180:])
    assert float(found["validation_mig"]) == float(mig(codes, labels))
    assert float(found["validation_dci"]) == float(dci(*first, test=last, seed=3))
    assert float(found["validation_sap"]) == float(sap(*first, test=last, seed=3))
    assert {score.settings["labels"] for score in found.values()} == {200}


def test_labels_are_what_the_labeller_says(dots):
    # A value of 12 that is drawn anew half of the time is right with 13/24 and any other with 1/24: of ln 12 = 2.485
    # nats ln 12 - H = .696 are left, a share of .28. What counting finds too much cancels between two codes.
    asked = make("validation:labels=144,labeller=exact+noisy:p=0.5+permuted+partial:factors=1,metrics=mig")
    found = rows_of(lambda images: true_codes(dots, images), dots, asked)
    values = {labeller: float(scores["validation_mig"]) for (_, labeller), scores in found.items()}
    assert values["exact"] == values["partial:factors=1"] == pytest.approx(1)
    assert values["permuted"] == pytest.approx(1)  # counting does not mind how values are numbered
    assert values["noisy:p=0.5"] == pytest.approx(0.28, abs=0.1)


def true_codes(data, images):
    every = data.images(np.arange(len(data)))
    index = [int((every == image).all((1, 2, 3)).argmax()) for image in images]
    return data.factors(np.array(index)).astype(float)


def test_more_labels_are_the_fewer_ones_and_others(dots, tmp_path):
    run = train("vae", dots, tmp_path)
    few, many, other = (_labelled(run, dots, count, seed) for count, seed in ((20, 0), (60, 0), (60, 1)))
    assert (many[:20] == few).all()
    assert len(set(many)) == 60
    assert set(many) != set(other)


def test_no_label_validates_that_was_trained_on(dots, tmp_path):
    objective = S2BetaVAE(**SMALL, labels=100, label_seed=4)
    run = train(objective, dots, tmp_path)
    taught = FewLabelsStream(dots, 4, 0, labels=100, label_seed=4).labelled
    index = _labelled(run, dots, 44, 0)
    assert set(index) == set(range(144)) - set(taught)
    with pytest.raises(UsageError, match=r"45 labels .* has 44 images without the 100 that the run learned from"):
        _labelled(run, dots, 45, 0)
    with pytest.raises(UsageError, match="ask for fewer: validation:labels=44"):
        measure(run, dots, "validation")


def test_correlated_data_are_labelled_as_they_are_drawn(tmp_path):
    data = load("mini-sprites:correlate=x+y,sigma=0.1")
    run = train(S2BetaVAE(net="mlp:width=16", labels=20), data, tmp_path)
    index = _labelled(run, data, 300, 0)
    names = data.factor_names
    x, y = data.factors(index)[:, [names.index("x"), names.index("y")]].T
    assert np.corrcoef(x, y)[0, 1] > 0.8
    taught = {tuple(row) for row in data.factors(FewLabelsStream(data, 1, 0, labels=20).labelled)}
    assert not taught & {tuple(row) for row in data.factors(index)}


def test_labels_that_say_nothing_give_no_score():
    found = validation_scores(np.random.default_rng(0).normal(size=(40, 2)), np.zeros((40, 2), dtype=int))
    assert all(math.isnan(float(score)) for score in found.values())
    assert "no label varies" in found["validation_mig"].settings["not_possible"]
    one = np.stack([np.zeros(40, dtype=int), np.arange(40) % 4], axis=1)
    assert validation_scores(one, one, metrics=("mig",))["validation_mig"].settings["varying"] == [1]


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(UsageError, match="labels must be numbers from 10 on"):
        make("validation:labels=5")
    with pytest.raises(UsageError, match="metric of a labelled sample"):
        make("validation:metrics=factor_vae")

"""Scores from a few labels, and which images are labelled."""

import math
import shutil

import numpy as np
import pytest

import unbraid
from unbraid.data import FewLabelsStream, load
from unbraid.errors import UsageError
from unbraid.evaluation import Validation, make, measure, validation, validation_scores
from unbraid.evaluation.validation import _labelled
from unbraid.metrics import dci, mig, sap
from unbraid.objectives import S2BetaVAE
from unbraid.objectives import make as make_objective

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


def test_the_labels_of_the_run_it_was_started_from_are_known_too(dots, tmp_path):
    taught = train(S2BetaVAE(**SMALL, labels=60, label_seed=4), dots, tmp_path / "taught")
    more = unbraid.train(
        S2BetaVAE(**SMALL, labels=30, label_seed=1), dots, steps=2, batch_size=16, out=tmp_path / "more",
        progress="none", start=taught.path, parts=("encoder",),
    )  # fmt: skip
    run = unbraid.train(
        make_objective("beta-vae", SMALL), dots, steps=2, batch_size=16, out=tmp_path / "run", progress="none",
        start=more.path, parts=("encoder",),
    )  # fmt: skip
    known = {
        int(place)
        for count, seed in ((60, 4), (30, 1))
        for place in FewLabelsStream(dots, 1, 0, labels=count, label_seed=seed).labelled
    }
    left = 144 - len(known)
    assert set(_labelled(run, dots, left, 0)) == set(range(144)) - known
    with pytest.raises(UsageError, match=f"has {left} images without the {len(known)}"):
        _labelled(run, dots, left + 1, 0)
    shutil.rmtree(taught.path)
    with pytest.raises(UsageError, match=r"more was started from .*taught.*cannot be opened"):
        _labelled(run, dots, 10, 0)


@pytest.mark.parametrize(("name", "options"), [("ivae", {"factor": "x"}), ("gvae", {}), ("ml-vae", {})])
def test_who_was_told_of_every_image_is_not_validated(name, options, dots, tmp_path):
    told = train(make_objective(name, {**SMALL, **options}), dots, tmp_path / "told")
    asked = make("validation:labels=20")
    assert not asked.applies(told, dots)
    assert "was not told of every image's labels" in asked.lacks(told, dots)
    with pytest.raises(UsageError, match=f"told was trained by '{name}', which is told of the labels of every image"):
        list(asked.rows(told, dots, 0))
    start = {"start": told.path, "parts": ("decoder",)}
    run = unbraid.train(
        make_objective("vae", SMALL), dots, steps=2, batch_size=16, out=tmp_path / "run", progress="none", **start
    )
    with pytest.raises(UsageError, match=r"which .*run was started from"):
        measure(run, dots, asked)


def test_labels_of_another_grid_cannot_be_left_out(tmp_path):
    whole, part, other = (load(f"mini-sprites{more}") for more in ("", ":x=0+1+2", ":x=1+2+3"))
    run = train(S2BetaVAE(net="mlp:width=16", labels=20), part, tmp_path)
    assert len(_labelled(run, part, 20, 0)) == 20
    for data in (whole, other):
        with pytest.raises(UsageError, match=r"was taught labels of .* other values than those of .* cannot be left"):
            _labelled(run, data, 20, 0)


def test_correlated_data_are_labelled_as_they_are_drawn(tmp_path):
    data = load("mini-sprites:correlate=x+y,sigma=0.1")
    run = train(S2BetaVAE(net="mlp:width=16", labels=20), data, tmp_path)
    index = _labelled(run, data, 300, 0)
    names = data.factor_names
    x, y = data.factors(index)[:, [names.index("x"), names.index("y")]].T
    assert np.corrcoef(x, y)[0, 1] > 0.8
    taught = {tuple(row) for row in data.factors(FewLabelsStream(data, 1, 0, labels=20).labelled)}
    assert not taught & {tuple(row) for row in data.factors(index)}


def test_more_labels_of_correlated_data_are_the_fewer_ones_and_others(tmp_path):
    data = load("mini-sprites:correlate=x+y,sigma=0.2")
    run = train(S2BetaVAE(net="mlp:width=16", labels=20), data, tmp_path)
    every = _labelled(run, data, 3000, 0)  # some blocks of draws
    for count in (10, 100, 1100):
        assert (_labelled(run, data, count, 0) == every[:count]).all()


def test_what_correlated_data_cannot_give_is_told_as_it_was_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(validation, "_MOST", 3)
    data = load("mini-sprites:correlate=x+y,sigma=0.1")
    run = train("vae", data, tmp_path)
    with pytest.raises(UsageError, match=r"3072 of 3072 images drawn from .* are left; ask for fewer: .*labels=3072"):
        _labelled(run, data, 5000, 0)


def test_labels_that_say_nothing_give_no_score():
    found = validation_scores(np.random.default_rng(0).normal(size=(40, 2)), np.zeros((40, 2), dtype=int))
    assert all(math.isnan(float(score)) for score in found.values())
    assert "no label varies" in found["validation_mig"].settings["not_possible"]
    one = np.stack([np.zeros(40, dtype=int), np.arange(40) % 4], axis=1)
    assert validation_scores(one, one, metrics=("mig",))["validation_mig"].settings["varying"] == [1]


def test_faults_are_told_and_not_made_a_score():
    codes, labels = np.random.default_rng(0).normal(size=(40, 2)), np.arange(80).reshape(40, 2) % 3
    for given, words in (
        ((np.full_like(codes, np.nan), labels), "80 of 80 entries that are NaN"),
        ((codes[:-1], labels), "differ in length: 39 rows and 40 rows"),
        ((codes[:0], labels[:0]), r"0 row\(s\)"),
        ((codes, labels[:, 0]), r"labels must be \[n, K\]"),
    ):
        with pytest.raises(UsageError, match=words):
            validation_scores(*given)
    for names in (("gim",), ("factor_vae",), (), "mig"):
        with pytest.raises(UsageError, match=r"metric"):
            validation_scores(codes, labels, metrics=names)
    found = validation_scores(codes.tolist(), labels.tolist(), metrics=("mig",))["validation_mig"]
    assert float(found) == float(mig(codes, labels))


def test_what_is_no_labeller_is_refused_before_images_are_encoded(dots):
    def encode(images):
        raise AssertionError(f"{len(images)} were encoded")

    for asked, words in (("nosy", "noisy"), ("partial:factors=3", r"1\.\.2")):
        with pytest.raises(UsageError, match=words):
            measure(encode, dots, f"validation:labels=20,labeller={asked}")


def test_too_few_images_for_any_validation_are_no_number_to_ask_for(dots, tmp_path):
    run = train(S2BetaVAE(**SMALL, labels=140), dots, tmp_path)
    with pytest.raises(UsageError, match=r"has 4 images .*less than the 10 that a validation needs") as told:
        _labelled(run, dots, 20, 0)
    assert "validation:labels=" not in str(told.value)


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(UsageError, match="labeller must name"):
        Validation(labeller=())
    with pytest.raises(UsageError, match="metrics must be names"):
        Validation(metrics=())
    with pytest.raises(UsageError, match="labels must be numbers from 10 on"):
        make("validation:labels=5")
    with pytest.raises(UsageError, match="metric of a labelled sample"):
        make("validation:metrics=factor_vae")

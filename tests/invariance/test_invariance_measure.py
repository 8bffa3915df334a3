"""The measure ``invariance``: its numbers are those of the tools, of the right samples, and stored."""

import dataclasses

import numpy as np
import pytest
import torch

import unbraid
from unbraid import evaluation
from unbraid.data import from_arrays, load
from unbraid.engines import InlineEngine
from unbraid.errors import UsageError
from unbraid.evaluation import draw_images, measure
from unbraid.invariance import Invariance, measured, metamers, to_inputs, train_reader
from unbraid.invariance.measured import samples
from unbraid.study import make_table, parse_study, read_study, run_study

SMALL = Invariance(train=600, images=400, metamers=60, width=32, depth=1, steps=200, proxy_steps=150)
NET = "conv:stages=2,blocks=1,width=8"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "run"
    return unbraid.train("firevnet", "digits8", net=NET, steps=80, batch_size=32, out=out, progress="none")


@pytest.fixture(scope="module")
def found(run):
    return measure(run, run.data(), SMALL)["invariance"].rows[0][1]


def test_errors_and_informations_are_those_of_outputs(run, found):
    data = run.data()
    (_, known), (_, judged) = samples(run, data, SMALL.train, SMALL.images, 0)
    assert not set(known) & set(judged)
    outputs = [torch.tensor(run.encode(data.images(index))) for index in (known, judged)]
    labels = [torch.tensor(data.labels(index)) for index in (known, judged)]
    wrong = [float((z[:, :10].argmax(1) != y).double().mean()) for z, y in zip(outputs, labels, strict=True)]
    assert [float(found["logit_train_error"]), float(found["logit_test_error"])] == pytest.approx(wrong)
    # Plug-in entropy of the labels, in nats, and the error of naming the most frequent one.
    shares = np.bincount(labels[1].numpy()) / len(labels[1])
    assert found["label_entropy"] == pytest.approx(-(shares * np.log(shares)).sum())
    assert found["chance_error"] == pytest.approx(1 - shares.max())
    entropy = torch.nn.functional.cross_entropy(outputs[1][:, :10].double(), labels[1])
    assert found["logit_information"] == pytest.approx(found["label_entropy"] - float(entropy), abs=1e-5)
    options = {"width": 32, "depth": 1, "steps": 200, "patience": 10, "standardise": True, "classes": 10}
    reader = train_reader(outputs[0][:, 10:], labels[0], **options)
    assert float(found["nuisance_test_error"]) == pytest.approx(
        float((reader(outputs[1][:, 10:]).argmax(1) != labels[1]).double().mean()), abs=0.02
    )


def test_metamers_keep_logits_and_are_judged_by_a_proxy(found):
    assert found["metamer_residual"] < 1e-3
    assert found["inverse_error"] < 1e-3
    assert found["metamer_kept"] == found["metamer_by_proxy"] == 1
    # Hardly trained, the network has all but ten numbers of a metamer from its donor.
    assert float(found["metamer_as_donor"]) > 0.5 > float(found["metamer_as_logits"])
    assert found["proxy_test_error"] < 0.5 < found["chance_error"]


def test_a_named_proxy_answers_and_its_weights_are_a_part_of_what_was_asked(run, found, tmp_path):
    other = unbraid.train("classifier", "digits8", net="mlp:width=32", steps=200, out=tmp_path / "a", progress="none")
    asked = dataclasses.replace(SMALL, proxy=str(other.path))
    first = measure(run, run.data(), asked)["invariance"]
    assert float(first.rows[0][1]["proxy_test_error"]) != float(found["proxy_test_error"])
    unbraid.train("classifier", "digits8", net="mlp:width=32", steps=210, out=tmp_path / "a", progress="none")
    assert evaluation.answer_path(run, run.data(), asked) != first.path


def test_images_that_are_asked_about_are_not_those_learnt_from(run):
    data = run.data()
    rows = np.arange(0, len(data), 3)
    other = from_arrays(data.images(rows), labels=data.labels(rows), name="other")
    known, judged = samples(run, other, 100, 50, 0)
    assert known[0].name == "digits8"
    assert judged[0] is other
    assert len(judged[1]) == 50
    learnt, asked = ({image.tobytes() for image in one.images(index)} for one, index in (known, judged))
    assert not learnt & asked
    drawn = {image.tobytes() for image in data.images(draw_images(data, 100, 0))}
    assert drawn & asked  # else nothing had to be left out
    assert learnt == drawn - asked


def test_spheres_have_their_own_oracle(tmp_path):
    options = {"net": "fc:width=32", "optimizer": "adam", "precision": "fp32", "progress": "none"}
    made = unbraid.train("firevnet", "spheres:d=30,images=3000", steps=100, out=tmp_path / "s", **options)
    found = measure(made, load("spheres:d=30,images=500,seed=1"), SMALL)["invariance"].rows[0][1]
    assert found["metamer_by_proxy"] == found["proxy_test_error"] == 0
    assert float(found["logit_test_error"]) < 0.05


def test_it_applies_to_bijections_with_classes_alone(run, tmp_path):
    other = unbraid.train("classifier", "digits8", net="mlp:width=8", steps=2, out=tmp_path / "c", progress="none")
    data = run.data()
    assert SMALL.applies(run, data)
    assert not SMALL.applies(other, data)
    assert not SMALL.applies(evaluation.as_run(lambda images: images), data)


@pytest.mark.parametrize(("setting", "value"), [("train", 3), ("images", 1), ("metamers", 1), ("tolerance", 0.0)])
def test_settings_out_of_range_are_refused(setting, value):
    with pytest.raises(UsageError, match=setting):
        Invariance(**{setting: value})


def test_patience_ends_training_and_the_best_weights_are_kept():
    rng = np.random.default_rng(0)
    noise, coin = torch.tensor(rng.normal(size=(400, 5))).float(), torch.tensor(rng.integers(2, size=400))
    reader = train_reader(noise, coin, width=64, depth=1, steps=5000, patience=3)
    assert 100 <= reader.steps <= 1000  # noise is learnt by heart at once, and the tenth shows it


def test_inverting_gives_images_back_before_they_are_rounded(run):
    images = run.data().images(np.arange(20))
    assert run.can("invert")
    back = run.invert(run.encode(images))
    assert back.dtype == np.float32
    assert np.abs(back - images / 255).max() < 1e-4
    assert (run.decode(run.encode(images)) == images).all()
    with pytest.raises(UsageError, match="as many numbers as a sample has"):
        run.invert(np.zeros((2, 3)))
    with pytest.raises(UsageError, match="outputs must be"):
        run.invert(np.zeros(64))
    assert to_inputs(run, images).shape == (20, 1, 8, 8)


@pytest.mark.parametrize("name", ["invariance", "invariance-fashion"])
def test_presets_train_both_ways_with_three_seeds(name):
    study = read_study(name)
    assert {setting.objective for setting in study.settings} == {"firevnet", "ice"}
    assert len(study.seeds) == 3
    assert study.measures[0].data[0].endswith("split=test")


def test_networks_metamers_and_densities_come_back_from_the_folder(run):
    again = unbraid.open_run(run.path)
    data = run.data()
    x = to_inputs(run, data.images(np.arange(30)))
    labels = torch.tensor(data.labels(np.arange(30)))
    assert torch.equal(metamers(run, x, labels=labels, seed=2).x, metamers(again, x, labels=labels, seed=2).x)
    assert not torch.equal(metamers(run, x, labels=labels, seed=3).x, metamers(again, x, labels=labels, seed=2).x)
    for name, values in run.model.prior.state_dict().items():
        assert torch.equal(values, again.model.prior.state_dict()[name])
    assert (run.describe(data.images(np.arange(9)))["bits"] == again.describe(data.images(np.arange(9)))["bits"]).all()


def test_models_that_are_not_one_to_one_cannot_be_inverted(tmp_path):
    other = unbraid.train("classifier", "digits8", net="mlp:width=8", steps=2, out=tmp_path / "c", progress="none")
    assert not other.can("invert")
    with pytest.raises(UsageError, match="trained by 'classifier' cannot be inverted"):
        other.invert(np.zeros((2, 64)))


def test_a_study_has_all_numbers_of_each_run_in_one_row(tmp_path):
    text = """
data = ["digits8"]
steps = 4
batch_size = 32
[objectives.firevnet]
net = "conv:stages=2,blocks=1,width=8"
[objectives.ice]
net = "conv:stages=2,blocks=1,width=8"
nuisance_width = 16
steps = 6
[measures.invariance]
train = 200
images = 100
metamers = 20
width = 8
steps = 20
proxy_steps = 5
"""
    folder = run_study(parse_study(text, "small"), tmp_path, engine=InlineEngine(), progress="none")
    table = make_table(folder)
    assert table["objective"].to_list() == ["firevnet", "ice"]
    for name in Invariance.titles:
        assert table[name].null_count() == 0, name
    assert (table["nuisance_information"] <= table["label_entropy"]).all()


def test_a_proxy_whose_training_was_interrupted_is_not_asked(run, monkeypatch):
    stopped = type("Stopped", (), {"finished": False})()
    monkeypatch.setattr(measured, "train", lambda *_, **__: stopped)
    with pytest.raises(KeyboardInterrupt):
        measured.train_proxy(run, run.data(), 5, 0)

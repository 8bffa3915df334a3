"""What is built on a run: read-outs, codes that are verified, and how few labels they need."""

import math

import numpy as np
import pytest

import unbraid
from unbraid import objectives
from unbraid.data import from_arrays, load
from unbraid.transfer import make_scenario, preset, subject_of
from unbraid.transfer import readings as readings_module
from unbraid.transfer.all_scenarios.trust import FewLabels, hurried
from unbraid.transfer.readings import Verified
from unbraid.transfer.scenario import READING_VERSIONS

DATA = "mini-sprites:split=random"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("readings") / "run"
    return unbraid.train("beta-vae", DATA, steps=5, net="mlp:width=16,depth=1", out=out, progress="none")


@pytest.fixture
def tiny(small, monkeypatch):  # noqa: ARG001
    for name, value in {"CODES": 200, "STEPS": 5, "CLEAN": 20, "SAMPLES": 10, "PASSES": 1}.items():
        monkeypatch.setattr(readings_module, name, value)


@pytest.mark.usefixtures("tiny")
def test_verified_codes_are_read_by_the_readout_of_the_twin_and_all_that_match_say_the_same(run):
    data = load(DATA)
    images = data.images(np.arange(30))
    plain, verified = (subject_of(run, data, reading) for reading in ("readout", "verified"))
    assert len(list((run.path / "readouts").iterdir())) == 1
    assert (plain.scores(images) != verified.scores(images)).any()
    verified.asked.most = math.inf
    np.testing.assert_allclose(plain.scores(images), verified.scores(images), rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("tiny")
def test_few_labels_of_verified_codes_are_read_off_verified_codes(run):
    data = load(DATA)
    asked = FewLabels(labels=20, steps=2, images=20, reading="verified")
    assert isinstance(asked._few(subject_of(run, data, "verified")).asked, Verified)
    assert math.isfinite(asked.ask(subject_of(run, data, "verified"), data)["value"])


@pytest.mark.usefixtures("small")
def test_few_labels_are_compared_with_chance_where_all_labels_are_worth_less(monkeypatch):
    data = load(DATA)
    classes = data.factor_sizes[data.factor_names.index("x")]

    def wrong(images):
        return np.tile(np.eye(classes)[0], (len(images), 1))

    few = make_scenario("few-labels", images=50)
    subject = subject_of(wrong, data)
    monkeypatch.setattr(subject, "labels", lambda _, index: np.ones(len(index), int))
    right = subject_of(lambda images: np.tile(np.eye(classes)[1], (len(images), 1)), data)
    monkeypatch.setattr(FewLabels, "_few", lambda *_: right)
    found = few.ask(subject, data)
    assert found["accuracy_all"] == 0.0
    assert found["value"] == classes


@pytest.mark.usefixtures("small")
def test_few_labels_begin_where_the_model_began_if_that_was_on_other_data(tmp_path, monkeypatch):
    told = {"steps": 3, "net": "mlp:width=16,depth=1", "batch_size": 16, "progress": "none"}
    images, labels = np.zeros((30, 64, 64, 1), np.uint8), np.arange(30) % 3
    other = unbraid.train("classifier", from_arrays(images, labels=labels), out=tmp_path / "other", **told)
    same = unbraid.train("supervised", "mini-sprites", factor="x", out=tmp_path / "same", **told)
    runs, asked = [], []
    for before in (other, same):
        out = tmp_path / f"after-{before.path.name}"
        told |= {"start": before.path, "parts": ["trunk"]}
        runs.append(unbraid.train("supervised", DATA, factor="x", out=out, **told))
    monkeypatch.setattr("unbraid.training.train", lambda *_, **given: asked.append(given) or same)
    for run in runs:
        FewLabels(labels=20, steps=2)._few(subject_of(run, load(DATA)))
    first, second = asked
    assert (first["start"], first["parts"]) == (other.path, ("trunk",))
    assert "start" not in second


def test_few_labels_shorten_the_schedule_of_what_is_trained_on_them():
    adversaries = ["adversarial:norm=l2,radius=1,warmup=900,share=1", "stylised:share=0.5"]
    told = objectives.make("classifier", {"drop_at": (1050, 1400), "augment": adversaries})
    quick = hurried(told, 200 / 1500)
    assert quick.drop_at == (140, 187)
    assert quick.augment == ("adversarial:norm=l2,radius=1,warmup=120,share=1", "stylised:share=0.5")
    assert hurried(told, 2.0) is told
    assert hurried(objectives.make("beta-vae"), 0.1) == objectives.make("beta-vae")


def test_another_way_of_reading_is_asked_anew_and_the_others_are_not(monkeypatch):
    plan = preset("smoke", biases=("slow-vae+verified",), scenarios=("iid",))
    before = {cell.bias: plan.asked(cell) for cell in plan.cells()}
    monkeypatch.setitem(READING_VERSIONS, "verified", 100)
    assert {cell.bias for cell in plan.cells() if plan.asked(cell) != before[cell.bias]} == {"slow-vae+verified"}

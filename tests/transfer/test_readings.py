"""What is built on a run: read-outs, codes that are verified, and how few labels they need."""

import math

import numpy as np
import pytest

import unbraid
from unbraid.data import load
from unbraid.transfer import make_scenario, subject_of
from unbraid.transfer import readings as readings_module
from unbraid.transfer.all_scenarios.trust import FewLabels
from unbraid.transfer.readings import Verified

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

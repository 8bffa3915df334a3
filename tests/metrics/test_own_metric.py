"""Scores of one's own stand beside the built-in ones."""

import math

import numpy as np
import pytest

from unbraid.data import load
from unbraid.errors import UsageError
from unbraid.metrics import METRICS, Score, evaluate, mig, register, score_codes


@pytest.fixture(autouse=True)
def _forgotten_afterwards(monkeypatch):
    for name in ("_things", "_names", "_homes"):
        monkeypatch.setattr(METRICS, name, dict(getattr(METRICS, name)))


def test_a_function_that_returns_a_number_becomes_a_score():
    @register("width", range=(0.0, math.inf))
    def width(codes):
        """Number of codes. And more."""
        return codes.shape[1]

    entry = METRICS["width"]
    assert (entry.needs, entry.title, entry.short, entry.about) == (
        "codes",
        "width",
        "width",
        "Number of codes. And more",
    )
    assert score_codes(np.random.default_rng(0).normal(size=(9, 4)))["width"].value == 4
    assert list(METRICS)[-1] == "width"


def test_a_score_keeps_its_ceiling_and_takes_options_and_the_seed():
    @register("half_mig", title="Half of MIG")
    def half_mig(codes, factors, *, share=0.5, seed=0):
        full = mig(codes, factors)
        return Score("half_mig", share * full.value, share * full.ceiling, settings={"seed": seed})

    factors = np.indices((3, 4)).reshape(2, -1).T
    score = score_codes(factors, factors, metrics="half_mig", options={"half_mig": {"share": 0.25}}, seed=7)["half_mig"]
    assert (score.value, score.ceiling, score.settings["seed"]) == (0.25, 0.25, 7)
    with pytest.raises(UsageError, match=r"unknown option of half_mig 'shore'; did you mean 'share'"):
        score_codes(factors, factors, metrics="half_mig", options={"half_mig": {"shore": 1}})


def test_one_that_fits_is_given_the_second_sample():
    @register("sample_sizes")
    def sample_sizes(codes, factors, *, test):  # noqa: ARG001
        return len(codes) / len(test[0])

    assert METRICS["sample_sizes"].needs == "train and test"
    data = load("blobs16")
    found = evaluate(
        lambda images: images.reshape(len(images), -1)[:, :3] / 255, data, ["sample_sizes"], train=60, test=20
    )
    assert found["sample_sizes"].value == 3.0


def test_what_is_no_number_is_refused():
    @register("wordy")
    def wordy(codes, factors):
        return f"{len(codes)} of {len(factors)}"

    factors = np.indices((3, 4)).reshape(2, -1).T
    with pytest.raises(UsageError, match="metric 'wordy' must return a Score or a number, got str"):
        score_codes(factors, factors, metrics="wordy")


def test_a_built_in_name_is_taken():
    with pytest.raises(UsageError, match="there is a metric 'mig' already"):

        @register("mig")
        def other(codes, factors):
            return len(codes) / len(factors)

"""Presets: how much an evaluation draws, and what they change."""

import json

import numpy as np
import pytest

from unbraid.data import IdentityFactors
from unbraid.errors import UsageError
from unbraid.evaluation import Disentanglement, make, measure, settings_of
from unbraid.metrics import PRESETS, counting_bias, evaluate
from unbraid.metrics._discrete import bin_codes, entropy, mutual_information

SMALL = ("mig", "factor_vae", "downstream")


def flat(images: np.ndarray) -> np.ndarray:
    codes = images.reshape(len(images), -1).astype(float)
    return codes @ np.array([[1, 0.5], [-0.3, 1]])


def plain(scores) -> str:
    untimed = {name: score.without_settings("seconds", "encoding_seconds").to_json() for name, score in scores.items()}
    return json.dumps(untimed, sort_keys=True)


def test_the_fast_preset_with_the_study_s_numbers_is_the_study():
    data = IdentityFactors((3, 4))
    numbers = {"train": 10_000, "test": 5_000, "batch": 64, "points": (10_000, 5_000)}
    options = {"downstream": {"sizes": None, "learners": ("lr", "gbt")}}
    metrics = ("mig", "factor_vae", "modularity")
    as_study = evaluate(flat, data, metrics, preset="fast", **numbers)
    assert plain(as_study) == plain(evaluate(flat, data, metrics))
    asked = {"metrics": metrics, "train": 10_000, "test": 5_000, "batch": 64, "points": 10_000}
    assert settings_of(Disentanglement(preset="fast", **asked)) == settings_of(Disentanglement(metrics=metrics))
    whole = Disentanglement(preset="fast", options=options, **{**asked, "metrics": SMALL})
    assert whole.options["downstream"] == options["downstream"]


def test_a_preset_is_its_numbers():
    data = IdentityFactors((3, 4))
    found = evaluate(flat, data, SMALL, preset="fast")
    assert found["mig"].settings["samples"] == 2_000
    assert [found["factor_vae"].settings[key] for key in ("train", "test", "batch")] == [500, 250, 32]
    assert found["downstream"].settings["sizes"] == [10, 100, 1000]
    assert list(found["downstream"].settings["estimator"]) == ["gbt"]
    full = evaluate(flat, data, ("mig", "mcc"), preset="full")
    assert [full[name].settings["samples"] for name in ("mig", "mcc")] == [100_000, 10_000]
    assert evaluate(flat, data, "mig", preset="fast", train=300)["mig"].settings["samples"] == 300


def test_stored_answers_of_the_usual_settings_stay_valid():
    # What hashes were made of before there were presets.
    assert settings_of(Disentanglement(metrics=("mig",))) == {
        "metrics": ["mig"],
        "representations": ["mean", "sampled"],
        "train": 10_000,
        "test": 5_000,
        "points": None,
        "options": {},
    }


@pytest.mark.parametrize("name", PRESETS)
def test_a_measure_is_made_again_from_its_settings(name):
    asked = make(f"disentanglement:preset={name},metrics=mig+downstream")
    again = make("disentanglement", json.loads(json.dumps(settings_of(asked))))
    assert settings_of(again) == settings_of(asked)
    assert again._preset() == asked._preset() == (None if name == "study" else name)


def test_two_presets_are_two_conditions():
    data = IdentityFactors((3, 4))
    conditions = [
        measure(flat, data, f"disentanglement:preset={name},metrics=mig")["disentanglement"].rows[0][0]
        for name in ("fast", "study")
    ]
    assert conditions == [{"representation": "mean", "preset": "fast"}, {"representation": "mean"}]
    own = measure(flat, data, "disentanglement:preset=fast,metrics=mig,train=100")["disentanglement"].rows[0][0]
    assert own == {"representation": "mean"}  # neither of them


def test_an_unknown_preset_is_refused_with_those_there_are():
    with pytest.raises(UsageError, match="did you mean 'fast'"):
        evaluate(flat, IdentityFactors((3, 4)), "mig", preset="fats")
    with pytest.raises(UsageError, match="unknown preset"):
        Disentanglement(preset="quick")
    with pytest.raises(UsageError, match="counted must be at least 2"):
        evaluate(flat, IdentityFactors((3, 4)), "mig", counted=1)


@pytest.mark.parametrize(("size", "samples"), [(3, 1_000), (6, 1_000), (10, 1_000), (3, 10_000), (6, 10_000)])
def test_counts_are_biased_by_what_the_formula_says(size, samples):
    rng = np.random.default_rng(0)
    found = []
    for _ in range(60):
        factors = rng.integers(size, size=(samples, 1))
        codes = rng.random((samples, 5))
        found.append(mutual_information(bin_codes(codes), factors).mean() / entropy(factors)[0])
    assert np.mean(found) == pytest.approx(counting_bias([size], samples)[0], rel=0.1)


@pytest.mark.parametrize(
    ("samples", "shares"),
    [(10_000, (0.002, 0.003, 0.011)), (1_000, (0.02, 0.03, 0.11)), (100, (0.23, 0.28, 0.55))],
)
def test_the_share_that_counting_makes_up_of_nothing(samples, shares):
    # 20 bins, independent codes. From 100 samples of 40 values the first-order formula says all of the entropy.
    rng = np.random.default_rng(0)
    for size, share in zip((3, 6, 40), shares, strict=True):
        factors, codes = rng.integers(size, size=(samples, 1)), rng.random((samples, 60))
        found = mutual_information(bin_codes(codes), factors).mean() / entropy(factors)[0]
        assert found == pytest.approx(share, rel=0.25 if samples == 10_000 else 0.15)
    assert counting_bias([40], 100)[0] == 1

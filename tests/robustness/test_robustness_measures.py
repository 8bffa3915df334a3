"""Corruptions, noise and adversaries as measures: stored, shared between runs, gone on with."""

import json

import numpy as np
import pytest

import unbraid
from unbraid.data import load
from unbraid.errors import UsageError
from unbraid.evaluation import make, measure, measure_together
from unbraid.robustness import (
    Adversarial,
    Corruptions,
    NoiseDistances,
    adversarial_accuracy,
    corrupting,
    corruption_table,
    learned_noise_distance,
    noise_distance,
    table_of,
)
from unbraid.robustness.corrupting import plan_of
from unbraid.robustness.trained import shown_in_training

DATA = load("blobs16")
ASKED = Corruptions("contrast+gaussian_noise", (1, 4), images=30)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    options = {"net": "mlp:width=8", "factor": "x", "steps": 60, "progress": "none", "learning_rate": 0.01}
    shown = [(), ("gaussian-noise:sigma=0.2",)]
    return [
        unbraid.train("classifier", DATA, out=folder / str(seed), seed=seed, augment=augment, **options)
        for seed, augment in enumerate(shown)
    ]


def test_rows_are_the_cells_of_the_table(runs):
    found = measure(runs[0], DATA, ASKED, seed=2)["corruptions"]
    table = corruption_table(runs[0], DATA, "contrast+gaussian_noise", (1, 4), images=30, seed=2)
    under = [(row["corruption"], row["severity"]) for row, _ in found.rows]
    assert under == [("none", 0), *((name, s) for name in ("contrast", "gaussian_noise") for s in (1, 4))]
    shares = [float(scores["corruption_accuracy"]) for _, scores in found.rows]
    np.testing.assert_allclose(shares, table.right.mean(axis=1))
    again = table_of(measure(runs[0], DATA, ASKED, seed=2)["corruptions"], runs[0], DATA)
    np.testing.assert_array_equal(again.right, table.right)
    np.testing.assert_array_equal(again.among_five, table.among_five)
    assert again.worst == table.worst
    assert str(again) == str(table)


def test_runs_together_answer_as_alone_and_go_on_where_they_were(runs, monkeypatch):
    calls = []

    def counted(images, *rest, **more):
        calls.append(len(images))
        return corrupt(images, *rest, **more)

    corrupt = corrupting.corrupt
    monkeypatch.setattr(corrupting, "corrupt", counted)
    both = measure_together(runs, DATA, ASKED, seed=5)
    assert sum(calls) == 4 * 30
    alone = [measure(run, DATA, ASKED, seed=5, again=True)["corruptions"] for run in runs]
    for first, second in zip(both, alone, strict=True):
        assert first.path.read_bytes() == second.path.read_bytes()
    # One run killed after two rows, the other whole: only what is missing is computed, to the same bytes.
    bytes_before, path = both[0].path.read_bytes(), both[0].path
    rows = json.loads(bytes_before)["rows"]
    path.unlink()
    partial = path.with_name(f".{path.stem}.rows")
    partial.write_text("\n".join(json.dumps(row) for row in rows[:2]) + '\n{"condi')
    calls.clear()
    measure_together(runs, DATA, ASKED, seed=5)
    assert sum(calls) == 3 * 30
    assert path.read_bytes() == bytes_before
    calls.clear()
    measure_together(runs, DATA, ASKED, seed=5)
    assert not calls
    assert not partial.exists()


def test_corruptions_that_training_showed_are_marked(runs):
    tables = [table_of(found, run, DATA) for found, run in zip(measure_together(runs, DATA, ASKED), runs, strict=True)]
    assert [table.trained_on for table in tables] == [frozenset(), frozenset({"gaussian_noise"})]
    assert tables[1].model == "1"


def test_corruptions_of_the_images_trained_on_are_marked(tmp_path):
    spoiled = unbraid.data.load("blobs16", corruption="fog:severity=2 then contrast:severity=1")
    run = unbraid.train(
        "classifier", spoiled, factor="x", net="mlp:width=4", steps=1, out=tmp_path / "run", progress="none"
    )
    shown = shown_in_training(run, plan_of("fog,contrast,gaussian_noise"))
    assert shown == {"fog", "contrast"}
    assert shown_in_training(unbraid.open_run(tmp_path / "run"), plan_of("fog")) == {"fog"}


def test_a_run_is_not_asked_about_a_factor_it_was_not_trained_for(runs):
    assert unbraid.data.load("blobs16").factor_names[:2] == ("x", "y")
    with pytest.raises(UsageError, match="factor 'y' is not what this run names: it was trained for x"):
        corruption_table(runs[0], DATA, "fog", (1,), images=4, factor="y")


def test_noise_and_adversaries_are_stored_as_computed(runs):
    found = measure(runs[0], DATA, [NoiseDistances(images=20), Adversarial(eps=0.05, steps=5, images=20)], seed=1)
    index = np.sort(unbraid.data.counter_rng(1, 0).choice(256, size=20, replace=False))
    images, labels = DATA.images(index), DATA.factors(index)[:, 0]
    for under, scores in found["noise-distance"].rows:
        again = noise_distance(runs[0], images, labels, under["direction"], seed=1)
        np.testing.assert_allclose(scores["noise_distance"].parts["distances"], again.distances)
        assert float(scores["noise_distance"]) == pytest.approx(again.median)
        assert scores["misclassified"] == again.misclassified
    ((under, scores),) = found["adversarial"].rows
    assert under == {"norm": "linf", "eps": 0.05}
    assert (
        float(scores["adversarial_accuracy"])
        == adversarial_accuracy(runs[0], DATA, "linf", 0.05, steps=5, images=20, seed=1).accuracy
    )
    assert make("adversarial:norm=l2,eps=1.5,steps=3").norm == "l2"


def test_learned_noise_is_the_mean_over_generators(runs):
    asked = NoiseDistances(("learned",), images=20, generators=2, steps=3, eps=2.0)
    ((under, scores),) = measure(runs[0], DATA, asked)["noise-distance"].rows
    score = scores["noise_distance"]
    assert under == {"direction": "learned"}
    assert float(score) == pytest.approx(np.mean(score.parts["medians"]))
    assert score.parts["sd"] == pytest.approx(np.std(score.parts["medians"], ddof=1), nan_ok=True)
    assert len(score.parts["unreached"]) == 2
    images, labels = DATA.images(range(30)), DATA.factors(range(30))[:, 0]
    options = {"generators": 2, "steps": 2}
    first, second = (learned_noise_distance(runs[0], images, labels, seed=3, **options) for _ in range(2))
    for one, two in zip(first.found, second.found, strict=True):
        np.testing.assert_array_equal(one.distances, two.distances)
    assert not np.array_equal(first.found[0].distances, first.found[1].distances)
    assert first.settings["eps"] > 0
    assert "over 2 generators" in str(first)


def test_what_a_measure_needs_is_told(runs, tmp_path):
    vae = unbraid.train("beta-vae", DATA, net="mlp:width=8", steps=1, out=tmp_path / "vae", progress="none")
    assert not measure(vae, DATA, "corruptions")
    with pytest.raises(UsageError, match="does not apply to vae on blobs16: a model that names classes"):
        measure_together([runs[0], vae], DATA, ASKED)
    with pytest.raises(UsageError, match="looks at one run at a time"):
        measure_together(runs, DATA, "accuracy")
    assert not measure(lambda images: np.zeros((len(images), 2)), DATA, "adversarial")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("corruptions:suite=fgo", "did you mean 'fog'"),
        ("corruptions:suite=imagenet-c,severities=6", "got 6"),
        ("corruptions:images=0", "images must be at least 1"),
        ("noise-distance:directions=gausian", "did you mean 'gaussian'"),
        ("noise-distance:generators=0", "generators must be at least 1"),
        ("noise-distance:kernel=2", "kernel must be 1 or 3"),
        ("noise-distance:eps=-1", "eps must not be negative"),
        ("adversarial:norm=l1", "unknown norm 'l1'"),
        ("adversarial:eps=2", "eps in linf is at most 1"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(text, message):
    with pytest.raises(UsageError, match=message):
        make(text)

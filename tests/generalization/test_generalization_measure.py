"""The measure `generalization`: of a run, in a study, by the command."""

import json

import numpy as np
import polars as pl
import pytest

import unbraid
from unbraid.cli.app import main
from unbraid.data import load, split
from unbraid.errors import UsageError
from unbraid.evaluation import make, measure
from unbraid.generalization import (
    RECIPES,
    Generalization,
    evaluate,
    fit_readout,
    predictions_of,
    r2,
    similarity,
    split_of,
    targets,
)

DATA = load("mini-sprites")
OPTIONS = {"net": "mlp:width=16"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    seen = load("mini-sprites:split=extrapolation")
    return [
        unbraid.train("regressor", seen, out=folder / str(seed), steps=40, seed=seed, progress="none", **OPTIONS)
        for seed in range(2)
    ]


def test_it_scores_the_images_a_run_was_not_trained_on(runs):
    asked = make("generalization:images=100,train_images=50,one_ood=20")
    found = measure(runs[0], runs[0].data(), asked)["generalization"]
    scores = found.scores()
    halves = split(DATA, "extrapolation")
    answers = evaluate(runs[0], DATA, halves, images=100, train_images=50, one_ood=20)
    assert float(scores["r2_test"]) == answers.scores.mean
    np.testing.assert_array_equal(scores["r2_test"].parts["per_factor"], answers.scores.r2)
    assert scores["r2_test"].settings["split_hash"] == halves.hash
    assert scores["mean_squared_error_test"] == answers.scores.mean_squared_error
    assert scores["r2_train"] == answers.trained.mean
    for name in ("constant", "train-mean", "clamp"):
        assert scores[f"r2_{name.replace('-', '_')}"] == answers.baselines[name].mean
    assert scores["r2_unseen"] == pytest.approx(answers.modularity()["ood"].mean())
    assert found.path.with_suffix(".parquet").exists()


def test_all_models_of_a_split_answer_about_the_same_images(runs):
    asked = Generalization(images=80, train_images=20, one_ood=10)
    first, second = (predictions_of(run, asked=asked, seed=run.info["seed"]) for run in runs)
    np.testing.assert_array_equal(first.image, second.image)
    assert not np.array_equal(first.predicted, second.predicted)
    assert first.about["run"] == "0"
    assert first.about["objective"]["options"]["net"] == "mlp:width=16"
    a, b = first.answers(), second.answers()
    said = {"mlp": [a.test.predicted, b.test.predicted]}
    table = similarity(said, a.test.factors, a.space, a.facts.unseen)
    assert np.isfinite(table.filter(first="mlp", second="mlp")["pooled"].item())


def test_predictions_that_were_deleted_are_made_again(runs):
    asked = Generalization(images=30, train_images=10)
    first = predictions_of(runs[0], asked=asked)
    path = measure(runs[0], runs[0].data(), asked)["generalization"].path.with_suffix(".parquet")
    assert r2(first.predicted, first.factors, first.space).images == len(first.image)
    path.unlink()
    np.testing.assert_array_equal(predictions_of(runs[0], asked=asked).predicted, first.predicted)
    assert path.exists()
    measure(runs[0], runs[0].data(), asked, again=True)
    assert path.exists()


def test_the_whole_data_set_or_either_side_give_the_same_answer(runs):
    asked = Generalization(images=50, train_images=10)
    sides = [DATA, load("mini-sprites:split=extrapolation"), load("mini-sprites:split=extrapolation,side=test")]
    found = [float(measure(runs[0], data, asked)["generalization"].scores()["r2_test"]) for data in sides]
    assert found[0] == found[1] == found[2]


def test_an_own_split_is_found_again(tmp_path):
    seen = load("mini-sprites", split={"x": {"test_only": [3]}})
    run = unbraid.train("regressor", seen, out=tmp_path / "run", steps=2, progress="none", **OPTIONS)
    assert split_of(run, DATA).hash == split_of(run, run.data()).hash == split(DATA, {"x": {"test_only": [3]}}).hash
    rows = measure(run, DATA, "generalization:images=20")["generalization"].rows
    assert rows[0][1]["r2_test"].settings["split"] == "own"


def test_a_function_is_asked_about_a_side():
    places = {image.tobytes(): k for k, image in enumerate(DATA.images(np.arange(len(DATA))))}

    def knows(images):
        return targets(DATA.factors([places[image.tobytes()] for image in images]), DATA.space)

    found = measure(knows, split(DATA, "composition").train, "generalization:images=20")["generalization"]
    assert float(found.scores()["r2_test"]) == 1
    assert found.path is None
    assert not measure(knows, DATA, "generalization")
    with pytest.raises(UsageError, match="trained here"):
        predictions_of(knows, DATA)


def test_runs_that_saw_other_images_are_not_asked(tmp_path, runs):
    whole = unbraid.train("regressor", DATA, out=tmp_path / "whole", steps=2, progress="none", **OPTIONS)
    assert not measure(whole, DATA, "generalization")
    assert "was trained on the whole data set" in Generalization().lacks(whole, DATA)
    other = unbraid.train(
        "regressor", split(DATA, "composition").test, out=tmp_path / "other", steps=2, progress="none", **OPTIONS
    )
    assert "the side 'test'" in Generalization().lacks(other, DATA)
    classifier = unbraid.train(
        "classifier", split(DATA, "random").train, out=tmp_path / "c", steps=2, progress="none", factor="x", **OPTIONS
    )
    assert "does not predict factors" in Generalization().lacks(classifier, DATA)
    vae = unbraid.train(
        "beta-vae", split(DATA, "random").train, out=tmp_path / "v", steps=2, progress="none", **OPTIONS
    )
    assert "does not predict factors" in Generalization(readout="none").lacks(vae, DATA)
    assert Generalization().applies(vae, DATA)
    with pytest.raises(UsageError, match="belongs to the split composition"):
        measure(runs[0], split(DATA, "composition").train, "generalization")
    with pytest.raises(UsageError, match="cannot be asked"):
        predictions_of(whole)


@pytest.mark.parametrize("setting", ["images=0", "train_images=0", "one_ood=-1"])
def test_settings_that_cannot_be_meant_are_refused(setting):
    with pytest.raises(UsageError, match=f"{setting.partition('=')[0]} must be at least"):
        make(f"generalization:{setting}")


def test_unknown_read_outs_and_recipes_are_refused():
    with pytest.raises(UsageError, match="kind of read-out 'forest'"):
        make("generalization:readout=forest")
    with pytest.raises(UsageError, match="recipe 'gpu'"):
        make("generalization:recipe=gpu")


def test_a_run_that_encodes_is_asked_through_a_read_out(tmp_path):
    seen = load("mini-sprites:split=interpolation")
    run = unbraid.train("beta-vae", seen, out=tmp_path / "vae", steps=60, progress="none", latents=4, **OPTIONS)
    found = measure(run, seen, "generalization:images=80,train_images=30,recipe=cpu")["generalization"]
    score = found.scores()["r2_test"]
    steps = RECIPES["cpu"].readout.steps_on(len(seen))
    assert {**score.settings, "readout": "mlp", "readout_recipe": "cpu", "readout_steps": steps} == score.settings
    readout = fit_readout(run, seen, recipe="cpu")
    halves = split(DATA, "interpolation")
    assert float(score) == evaluate(readout, DATA, halves, images=80, train_images=30, one_ood=200).scores.mean
    said = predictions_of(run, seen, make("generalization:images=80,train_images=30,recipe=cpu"))
    assert said.about["readout"] == "mlp"
    assert said.about["objective"]["name"] == "beta-vae"


def test_the_command_measures_and_lists_it(runs, capsys):
    assert main(["evaluate", str(runs[1].path), "--measures", "generalization:images=40,train_images=10"]) == 0
    said = capsys.readouterr().out
    assert "Generalization" in said
    assert "clamp" in said
    assert list((runs[1].path / "scores").glob("generalization-*.parquet"))
    assert main(["list", "measures"]) == 0
    assert "generalization" in capsys.readouterr().out


def test_a_study_has_its_numbers_in_the_table(tmp_path, capsys):
    (tmp_path / "study.toml").write_text(
        """
        data = ["mini-sprites:split=extrapolation", "mini-sprites:split=random"]
        seeds = 2
        steps = 3
        net = "mlp:width=8"
        objectives = ["regressor"]
        [measures.generalization]
        images = 30
        train_images = 10
        """
    )
    out = tmp_path / "out"
    assert main(["study", "run", str(tmp_path / "study.toml"), "--out", str(out), "--workers", "1"]) == 0
    assert main(["study", "report", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    table = pl.read_parquet(told["table"])
    assert len(table) == 4
    assert table["r2_test"].is_finite().all()
    assert len(list(out.glob("runs/*/scores/generalization-*.parquet"))) == 4

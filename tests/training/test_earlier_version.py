"""Run folders written by version 0.1.0, before measures, parts and predictors came."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import unbraid
from unbraid import objectives

RUNS = Path(__file__).parent / "runs-0.1"
NAMES = ("beta-vae", "factor-vae", "slow-vae")


@pytest.fixture(params=NAMES)
def folder(request, tmp_path):
    shutil.copytree(RUNS / request.param, tmp_path / "run")
    return tmp_path / "run"


def test_a_run_of_version_0_1_resumes_as_it_would_have_then(folder):
    run = unbraid.open_run(folder)
    assert run.info["versions"]["unbraid"] == "0.1.0"
    objective = objectives.make(run.info["objective"]["name"], run.info["objective"]["options"])
    more = unbraid.train(
        objective, run.data(), out=folder, steps=100, seed=3, precision="fp32", log_every=20, progress="none"
    )
    expected = pl.read_csv(RUNS / f"{run.info['objective']['name']}-100.csv")
    found = more.history()
    assert found.columns == expected.columns
    # Not to the bit: another processor may add in another order.
    for column in expected.columns:
        assert found[column].to_list() == pytest.approx(expected[column].to_list(), rel=1e-3), column


def test_a_run_of_version_0_1_encodes_and_decodes(folder):
    run = unbraid.open_run(folder)
    data = run.data()
    codes = run.encode(data.images([0, 5]))
    assert codes.shape == (2, 4)
    assert run.decode(codes).shape == (2, *data.shape)


def test_scores_of_a_run_of_version_0_1_are_those_it_had():
    run = unbraid.open_run(RUNS / "beta-vae")
    stored = json.loads((run.path / "scores.json").read_text())
    found = unbraid.evaluate(run, run.data(), metrics=list(stored["scores"]), train=500, test=250)
    assert {name: float(score) for name, score in found.items()} == pytest.approx(
        {name: score["value"] for name, score in stored["scores"].items()}, abs=2e-3
    )

"""Verdicts of a benchmark that lacks models on some splits, in which nothing fails, or whose numbers have an end."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from benchmark_toys import toy_runs
from unbraid.data import load, split
from unbraid.generalization import Answers, SplitFacts, space_of, targets, write_predictions
from unbraid.generalization.drawing import draw_split
from unbraid.generalization.evaluate import Asked
from unbraid.study.analysis import Above, without_seeds
from unbraid.study.generalization import Model, Trained, judge_findings, judge_statements, tabulate


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    made = toy_runs(tmp_path_factory.mktemp("toys"), "mini-sprites", seeds=2, images=300)
    return [dataclasses.replace(run, data="dsprites-90") for run in made]  # whose numbers are published


def verdicts(runs):
    found = tabulate("toy", runs)
    return {one.name: one.verdict for one in (*judge_findings(found), *judge_statements(found))}


def shifted(folder, said):
    """Supervised models on the extrapolation of mini-sprites whose prediction is a function of truth and place."""
    whole = load("mini-sprites")
    halves, space, runs = split(whole, "extrapolation"), space_of(whole), []
    facts, sides = SplitFacts.of(halves), (halves.test, halves.train, halves.test)
    for name in ("CNN", "MLP"):
        for seed in range(3):
            rng, asked = np.random.default_rng((len(name), seed)), []
            for where, side in zip(draw_split(halves, 400, 200, 100, 0), sides, strict=True):
                factors = side.factors(where)
                noise = 0.001 * rng.standard_normal((len(where), len(space.names)))
                asked.append(Asked(said(targets(factors, space), where) + noise, factors, side.origin(where)))
            path = folder / f"{len(runs)}.parquet"
            write_predictions(path, Answers(facts, asked[0], asked[1], asked[2] if len(asked[2].image) else None))
            runs.append(
                Trained(len(runs), "mini-sprites", "extrapolation", Model(name, "supervised"), None, seed, path)
            )
    return runs


def test_models_that_do_not_fail_do_not_fail_alike(tmp_path):
    small = shifted(tmp_path, lambda truth, where: 0.5 + 0.98 * (truth - 0.5) + 0.005 * np.sin(9 * where)[:, None])
    found = verdicts(small)["c"]
    assert found.word == "cannot say"
    assert "no failure to compare: R² of the unseen factor is 1.00" in found.sentence


def test_models_that_fail_by_going_beyond_are_not_drawn_back(tmp_path):
    found = verdicts(shifted(tmp_path, lambda truth, _: 0.5 + 1.8 * (truth - 0.5)))["c"]
    assert found.word != "holds"
    far = verdicts(shifted(tmp_path, lambda truth, _: np.where(truth > 0.7, truth + 0.8, truth)))["c"]
    assert far.word == "does not hold"
    assert far.numbers["percent in the seen range"] == 0


def test_findings_compare_the_models_that_all_splits_have(runs):
    left = [run for run in runs if run.split == "random" or run.model.name in ("CNN", "MLP")]
    found, alone = verdicts(left), verdicts([run for run in runs if run.model.name in ("CNN", "MLP")])
    assert "median R² over 2 models" in found["a"].sentence
    assert found["a"] == alone["a"]
    assert found["b"] == alone["b"]
    assert found["random is best"] == alone["random is best"]


def test_splits_without_a_common_model_cannot_say(runs):
    found = verdicts([run for run in runs if run.model.name == ("CNN" if run.split == "random" else "MLP")])
    for name in ("a", "b", "random is best", "hardest split", "order for the CNN"):
        assert found[name].word == "cannot say", name
    assert "no model has runs on all of random, composition" in found["a"].sentence
    parted = {"random": "BetaVAE", "extrapolation": "SlowVAE"}
    assert verdicts([run for run in runs if parted.get(run.split) == run.model.name])["d1"].word == "cannot say"


def test_a_split_of_ones_own_does_not_disturb_statements(runs):
    own = [dataclasses.replace(run, split="own", index=run.index + 500) for run in runs if run.split == "extrapolation"]
    assert verdicts([*runs, *own])["hardest split"] == verdicts(runs)["hardest split"]
    without = [run for run in runs if run.split == "random"]
    assert "it needs all four splits, there are random, own" in verdicts([*without, *own])["random is best"].sentence


def test_intervals_stay_within_what_is_possible(runs):
    numbers = verdicts(runs)["d1"].numbers
    assert numbers["Spearman high"] <= 1
    table = pl.DataFrame({"seed": [0, 1, 2], "percent": [99.0, 90.0, 100.0]})
    said = without_seeds(
        table,
        [0, 1, 2],
        lambda seeds: table.filter(~pl.col("seed").is_in(seeds)),
        lambda left: ("all", [Above("percent", float(left["percent"].to_numpy().mean()), 50, (0.0, 100.0))]),
    )
    assert said.numbers["percent high"] == 100
    assert said.numbers["percent low"] > 50


def test_a_count_that_no_seed_changes_says_so(runs):
    assert "a count that no seed changes" in verdicts(runs)["random is best"].sentence

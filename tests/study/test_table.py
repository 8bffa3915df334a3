"""The table of a study: what was measured of its runs, a row per condition."""

import numpy as np
import polars as pl
import pytest

from unbraid.data import load
from unbraid.metrics import Score, udr
from unbraid.reading import read_json
from unbraid.study import Setting, Study, begin_study, condition_rows, make_table, usual_measures
from unbraid.study.conditions import score_columns
from unbraid.study.stages import evaluate_index, train_index

OPTIONS = {"net": "mlp:width=16", "latents": 3}


@pytest.fixture(scope="module")
def data():
    import dots  # noqa: F401 (registers it)

    return load("dots")


@pytest.mark.usefixtures("data")
def test_every_objective_of_the_study_can_be_measured(tmp_path):
    plan = usual_measures(metrics=("mig",), train=60, test=30, batches=2, images=20)
    names = ("beta-vae", "annealed-vae", "factor-vae", "beta-tcvae", "dip-vae-i", "dip-vae-ii")
    own = {"factor-vae": {"discriminator_width": 8}}
    settings = tuple(Setting(name, {**OPTIONS, **own.get(name, {})}) for name in names)
    study = Study("all", ("dots",), settings, seeds=(0, 1), steps=(3,), batch_size=8, measures=plan)
    folder = begin_study(tmp_path / "study", study)
    for index in range(len(study)):
        assert train_index(str(folder.path), index) == "done"
        assert evaluate_index(str(folder.path), index) == "done"
    table = make_table(folder)
    assert table["objective"].unique(maintain_order=True).to_list() == list(names)
    assert table.select("mig", "loss", "kl", "elbo", "udr").null_count().sum_horizontal()[0] == 0
    # UDR is that of the two seeds with each other.
    pair = table.filter((pl.col("objective") == "dip-vae-i") & (pl.col("representation") == "mean"))
    stored = [np.load(next((folder.run(index) / "scores").glob("udr-*.npz"))) for index in pair["index"]]
    expected = udr([s["codes"] for s in stored], [s["kl"] for s in stored]).parts["per_model"]
    assert pair["udr"].to_list() == pytest.approx(list(expected))


@pytest.mark.usefixtures("data")
def test_a_model_without_a_posterior_has_no_row_of_sampled_codes(tmp_path):
    plan = usual_measures(metrics=("mcc",), train=60, test=30, batches=2, images=20)
    settings = (Setting("pcl", OPTIONS), Setting("slow-vae", OPTIONS))
    study = Study("pairs", ("dots @ protocol=uni",), settings, (0, 1), (3,), batch_size=8, measures=plan)
    folder = begin_study(tmp_path / "study", study)
    for index in range(len(study)):
        assert train_index(str(folder.path), index) == "done"
        assert evaluate_index(str(folder.path), index) == "done"
    info = read_json(folder.run(0) / "run.json")
    assert (info["batch_size"], info["objective"]["options"]["pairs"]) == (4, "protocol=uni")
    table = make_table(folder)
    assert table.group_by("objective").agg(pl.col("representation").unique().sort()).sort("objective").rows() == [
        ("pcl", ["mean"]),
        ("slow-vae", ["mean", "sampled"]),
    ]
    pcl, slow = table.filter(objective="pcl"), table.filter(objective="slow-vae")
    assert pcl["mcc"].null_count() == pcl["udr"].null_count() == slow["reconstruction"].null_count() == 0
    assert pcl["reconstruction"].null_count() == len(pcl)
    assert set(slow["variant"]) == {"paper"}


@pytest.mark.usefixtures("data")
def test_a_run_that_another_process_holds_is_left_alone(tmp_path):
    plan = usual_measures(metrics=(), batches=1, images=2)
    folder = begin_study(tmp_path / "s", Study("s", ("dots",), (Setting("vae", OPTIONS),), (0,), (1,), measures=plan))
    with folder.claim(0) as held:
        assert held
        assert folder.claimed(0)
        assert train_index(str(folder.path), 0) == "busy"
    assert not folder.claimed(0)
    assert train_index(str(folder.path), 0) == "done"
    assert folder.state(0) == "trained"


def test_downstream_scores_become_a_column_per_learner_and_size():
    parts = {
        "lr": {"mean_test": [0.2, 0.5, 0.8], "efficiency": None},
        "gbt": {"mean_test": [0.3, 0.6, 1.0], "efficiency": None},
    }
    columns = score_columns("downstream", Score("downstream", 1.0, parts=parts, settings={"sizes": [10, 100, 1000]}))
    assert columns == {
        "downstream": 1.0, "lr_10": 0.2, "lr_100": 0.5, "lr_1000": 0.8, "lr_efficiency": 0.5 / 0.8,
        "gbt_10": 0.3, "gbt_100": 0.6, "gbt_1000": 1.0, "gbt_efficiency": 0.6,
    }  # fmt: skip


def test_parts_of_a_score_that_are_numbers_become_columns():
    score = Score("dci", 0.5, 1.0, {"completeness": 0.25, "importance": [[1.0]]})
    assert score_columns("dci", score) == {"dci": 0.5, "dci_ceiling": 1.0, "dci_completeness": 0.25}
    assert score_columns("loss", float("inf")) == {"loss": None}


def test_a_row_stands_for_every_condition_that_no_other_refines():
    answers = [
        ("codes", {"representation": "mean"}, {"mig": 0.1}),
        ("codes", {"representation": "sampled"}, {"mig": 0.2}),
        ("losses", {}, {"loss": 3.0}),
        ("noise", {"level": 1}, {"error": 0.5}),
    ]
    assert condition_rows({7: answers}, [])[7] == [
        ({"representation": "mean"}, {"mig": 0.1, "loss": 3.0}),
        ({"representation": "sampled"}, {"mig": 0.2, "loss": 3.0}),
        ({"level": 1}, {"error": 0.5, "loss": 3.0}),
    ]
    # On two data sets, one of which says no more than where: it refines nothing and is refined by the other.
    placed = [
        ("a", {"on": "x"}, {"p": 1.0}),
        ("b", {"on": "x", "level": 2}, {"q": 2.0}),
        ("b", {"on": "y"}, {"q": 3.0}),
    ]
    assert condition_rows({0: placed}, [])[0] == [
        ({"on": "x", "level": 2}, {"p": 1.0, "q": 2.0}),
        ({"on": "y"}, {"q": 3.0}),
    ]
    assert condition_rows({0: []}, [])[0] == [({}, {})]


def test_a_name_that_two_measures_use_belongs_to_the_first_in_every_run():
    answers = {0: [("second", {}, {"kl": 2.0})], 1: [("first", {}, {"kl": 1.0}), ("second", {}, {"kl": 2.0})]}
    found = condition_rows(answers, ["first", "second"])
    assert found == {0: [({}, {"second_kl": 2.0})], 1: [({}, {"kl": 1.0, "second_kl": 2.0})]}
    named = {0: [("losses", {}, {"accuracy": 0.1}), ("accuracy", {}, {"accuracy": 0.2})]}
    assert condition_rows(named, ["losses", "accuracy"])[0] == [({}, {"losses_accuracy": 0.1, "accuracy": 0.2})]
    taken = condition_rows({0: [("mine", {"seed": 4}, {"index": 1.0})]}, ["mine"], taken=("seed", "index"))
    assert taken == {0: [({"mine_seed": 4}, {"mine_index": 1.0})]}

"""What is measured of a finished run."""

import numpy as np
import polars as pl
import pytest
import torch

from unbraid import objectives
from unbraid.data import IndependentStream, counter_rng, load
from unbraid.files import read_json
from unbraid.metrics import evaluate, udr
from unbraid.study import Evaluation, Setting, Study, make_table
from unbraid.study.evaluation import losses_after_training, score_run, shared_codes
from unbraid.study.folder import begin_study
from unbraid.study.stages import evaluate_index, train_index
from unbraid.study.table import score_columns
from unbraid.training import train
from unbraid.training.loop import NOISE

OPTIONS = {"net": "mlp:width=16", "latents": 3}


@pytest.fixture(scope="module")
def data():
    import dots  # noqa: F401 (registers it)

    return load("dots")


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    objective = objectives.make("beta-vae", {**OPTIONS, "beta": 3.0, "learning_rate": 1e-3})
    return train(objective, data, out=tmp_path_factory.mktemp("run"), steps=30, batch_size=8, seed=5, progress="none")


def test_losses_after_training_are_those_of_the_batches_that_come_next(run, data):
    found = losses_after_training(run, data, batches=2)
    # By hand: batches 30 and 31 of the stream of seed 5, with the noise that belongs to these steps.
    stream = IndependentStream(data, 8, 5)
    rows = []
    for step in (30, 31):
        images = torch.from_numpy(stream(step).images).permute(0, 3, 1, 2).float() / 255
        noise = torch.Generator().manual_seed(int(counter_rng(5, step, NOISE).integers(2**63)))
        with torch.no_grad():
            terms = run.objective.loss(run.model, objectives.Inputs(images), step, noise)
        rows.append((terms.terms["reconstruction"].item(), terms.watched["kl"].item()))
    reconstruction, kl = np.mean(rows, axis=0)
    assert found["reconstruction"] == pytest.approx(reconstruction, rel=1e-5)
    assert found["kl"] == pytest.approx(kl, rel=1e-5)
    assert found["elbo"] == pytest.approx(-(reconstruction + kl), rel=1e-5)
    assert found["regularizer"] == pytest.approx(3.0 * kl, rel=1e-4)
    assert found["loss"] == pytest.approx(reconstruction + 3.0 * kl, rel=1e-5)


def test_losses_after_training_leave_the_model_as_it_is(run, data):
    before = {name: value.clone() for name, value in run.model.state_dict().items()}
    losses_after_training(run, data, batches=3)
    assert all(torch.equal(value, before[name]) for name, value in run.model.state_dict().items())


def test_scores_are_those_of_evaluate_on_either_representation(run, data):
    plan = Evaluation(metrics=("mig", "modularity"), train=200, test=100)
    for kind in ("mean", "sampled"):
        expected = evaluate(run, data, metrics=["mig", "modularity"], representation=kind, train=200, test=100)
        found = score_run(run, data, plan, kind)
        assert {n: float(s) for n, s in found.items()} == {n: float(s) for n, s in expected.items()}
    assert float(score_run(run, data, plan, "mean")["mig"]) != float(score_run(run, data, plan, "sampled")["mig"])


def test_data_without_factors_are_measured_by_the_codes_alone(tmp_path):
    data = load("digits8")
    run = train(objectives.make("vae", OPTIONS), data, out=tmp_path, steps=3, batch_size=8, progress="none")
    scores = score_run(run, data, Evaluation(metrics=("mig", "gaussian_total_correlation"), train=100), "mean")
    assert list(scores) == ["gaussian_total_correlation"]


def test_tracks_are_measured_by_the_scores_by_rank(tmp_path):
    data = load("natural-sprites:size=8,channels=1")
    run = train(objectives.make("pcl", OPTIONS), data, out=tmp_path, steps=3, batch_size=4, progress="none")
    plan = Evaluation(metrics=("mig", "mcc"), train=100, options={"mig": {"bins": 5}})
    scores = score_run(run, data, plan, "mean")
    assert list(scores) == ["mcc"]
    assert len(scores["mcc"].parts["per_factor"]) == 5
    assert len(shared_codes(run, data, images=10, seed=0)[0]) == 10


def test_shared_codes_are_mean_codes_of_the_same_images(run, data):
    codes, kl = shared_codes(run, data, images=40, seed=1)
    again, _ = shared_codes(run, data, images=40, seed=1)
    assert codes.shape == (40, 3)
    assert np.array_equal(codes, again)
    rng = counter_rng(1, 1)
    images = data.images(data.sample_index(40, rng), rng)
    np.testing.assert_allclose(codes, run.encode(images), rtol=1e-5, atol=1e-6)
    assert kl.shape == (3,)
    assert (kl > 0).all()


@pytest.mark.usefixtures("data")
def test_every_objective_of_the_study_can_be_measured(tmp_path):
    plan = Evaluation(metrics=("mig",), train=60, test=30, batches=2, images=20)
    names = ("beta-vae", "annealed-vae", "factor-vae", "beta-tcvae", "dip-vae-i", "dip-vae-ii")
    own = {"factor-vae": {"discriminator_width": 8}}
    settings = tuple(Setting(name, {**OPTIONS, **own.get(name, {})}) for name in names)
    study = Study("all", ("dots",), settings, seeds=(0, 1), steps=(3,), batch_size=8, evaluation=plan)
    folder = begin_study(tmp_path / "study", study)
    for index in range(len(study)):
        assert train_index(str(folder.path), index) == "done"
        assert evaluate_index(str(folder.path), index) == "done"
    table = make_table(folder)
    assert table["objective"].unique(maintain_order=True).to_list() == list(names)
    assert table.select("mig", "loss", "kl", "elbo", "udr").null_count().sum_horizontal()[0] == 0
    # UDR is that of the two seeds with each other.
    pair = table.filter((pl.col("objective") == "dip-vae-i") & (pl.col("representation") == "mean"))
    stored = [np.load(folder.run(index) / "codes.npz") for index in pair["index"]]
    expected = udr([s["codes"] for s in stored], [s["kl"] for s in stored]).parts["per_model"]
    assert pair["udr"].to_list() == pytest.approx(list(expected))


@pytest.mark.usefixtures("data")
def test_a_model_without_a_posterior_has_no_row_of_sampled_codes(tmp_path):
    plan = Evaluation(metrics=("mcc",), train=60, test=30, batches=2, images=20)
    settings = (Setting("pcl", OPTIONS), Setting("slow-vae", OPTIONS))
    study = Study("pairs", ("dots @ protocol=uni",), settings, (0, 1), (3,), batch_size=8, evaluation=plan)
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
    plan = Evaluation(metrics=(), batches=1, images=2)
    folder = begin_study(tmp_path / "s", Study("s", ("dots",), (Setting("vae", OPTIONS),), (0,), (1,), evaluation=plan))
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
    columns = score_columns(
        "downstream", {"value": 1.0, "ceiling": None, "parts": parts, "settings": {"sizes": [10, 100, 1000]}}
    )
    assert columns == {
        "downstream": 1.0, "lr_10": 0.2, "lr_100": 0.5, "lr_1000": 0.8, "lr_efficiency": 0.5 / 0.8,
        "gbt_10": 0.3, "gbt_100": 0.6, "gbt_1000": 1.0, "gbt_efficiency": 0.6,
    }  # fmt: skip


def test_parts_of_a_score_that_are_numbers_become_columns():
    record = {"value": 0.5, "ceiling": 1.0, "parts": {"completeness": 0.25, "importance": [[1.0]]}, "settings": {}}
    assert score_columns("dci", record) == {"dci": 0.5, "dci_ceiling": 1.0, "dci_completeness": 0.25}

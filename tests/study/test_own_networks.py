"""Objectives with networks, numbers of steps and batch sizes of their own, and data crossed with splits."""

import json

import polars as pl
import pytest

from unbraid.cli.app import main
from unbraid.errors import UsageError
from unbraid.study import Study, begin_study, open_study, parse_study

FILE = """
data = ["mini-sprites", "sprites16:shape=0 @ protocol=uni"]
splits = ["random", "extrapolation"]
steps = 10
net = "slow"
[objectives.regressor]
net = ["cnn", "mlp"]
steps = 5
batch_size = 8
[[objectives.beta-vae]]
beta = [1, 2]
[[objectives.beta-vae]]
beta = 2
net = "conv"
"""


def test_an_objective_has_its_own_networks_steps_and_batches():
    runs = list(parse_study(FILE, "s"))[:5]
    assert [(run.method, run.net, run.steps, run.batch_size) for run in runs] == [
        ("regressor (cnn)", "cnn", 5, 8),
        ("regressor (mlp)", "mlp", 5, 8),
        ("beta-vae beta 1 (slow)", "slow", 10, 64),
        ("beta-vae beta 2 (slow)", "slow", 10, 64),
        ("beta-vae beta 2 (conv)", "conv", 10, 64),
    ]
    assert [run.options["net"] for run in runs] == [run.net for run in runs]


def test_data_are_crossed_with_splits_and_keep_their_options_and_pairs():
    assert parse_study(FILE, "s").data == (
        "mini-sprites:split=random",
        "mini-sprites:split=extrapolation",
        "sprites16:shape=0,split=random @ protocol=uni",
        "sprites16:shape=0,split=extrapolation @ protocol=uni",
    )


def test_the_record_brings_all_of_it_back():
    study = parse_study(FILE, "s")
    again = Study.from_json(json.loads(json.dumps(study.to_json())), "s")
    assert list(again) == list(study)
    assert (again.each("net"), again.each("steps"), again.each("batch_size")) == (
        ["cnn", "mlp", "slow", "conv"],
        [5, 10],
        [8, 64],
    )


def test_a_folder_begun_with_a_network_among_the_options_goes_on(tmp_path):
    # So version 0.2 recorded [objectives.vae] net = "fc": among the options, and unknown to the table.
    study = parse_study('data = "mini-sprites"\nsteps = 3\n[objectives.vae]\nnet = "fc"', "s")
    record = study.to_json()
    record["settings"] = [{"objective": "vae", "options": {"net": "fc"}, "parameter": None, "strength": None}]
    begin_study(tmp_path, study)
    (tmp_path / "study.json").write_text(json.dumps(record))
    assert open_study(tmp_path).study[0] == study[0]
    begin_study(tmp_path, study)
    # A network for the whole study was stronger then, and is what was trained.
    record["nets"] = ["mlp"]
    assert Study.from_json(record, "s")[0].options == {"net": "mlp"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('net = "slow"', 'net = ["slow", "mlp"]', ("objectives.regressor.net", "a list for all")),
        ("steps = 10", "steps = [10, 20]", ("objectives.regressor.steps", "a list for all")),
        ('net = ["cnn", "mlp"]', 'net = ["cnn", "cnn"]', ("objectives.regressor.net", "different names")),
        ('net = ["cnn", "mlp"]', "net = 3", ("objectives.regressor.net", "text, got 3")),
        ("steps = 5", "steps = 0", ("objectives.regressor.steps", "at least 1")),
        ("batch_size = 8", "batch_size = 0", ("objectives.regressor.batch_size", "at least 1")),
        ('net = "conv"', "", ("objectives.beta-vae", "could not tell apart")),
        ("[objectives.regressor]", '[options]\nnet = "fc"\n[objectives.regressor]', ("net is given twice",)),
        ('"extrapolation"]', '"extrapolaton"]', ("splits", "did you mean 'extrapolation'")),
        ('"mini-sprites"', '"mini-sprites:split=random"', ("a split of its own",)),
    ],
)
def test_mistakes_are_named(old, new, words):
    assert old in FILE
    with pytest.raises(UsageError) as caught:
        parse_study(FILE.replace(old, new, 1), "my.toml")
    for word in ("my.toml", *words):
        assert word in str(caught.value)


def test_a_changed_network_of_one_objective_is_refused_by_name(tmp_path):
    start = 'data = "mini-sprites"\nsteps = 3\n[objectives.vae]\nnet = "fc"'
    begin_study(tmp_path, parse_study(start, "s"))
    with pytest.raises(UsageError, match=r"objectives is now vae \{'net': 'mlp'\}.*begun with vae \{'net': 'fc'\}"):
        begin_study(tmp_path, parse_study(start.replace("fc", "mlp"), "s"))


def test_the_table_and_the_report_name_each_runs_network_and_steps(tmp_path, capsys):
    file = tmp_path / "s.toml"
    file.write_text(
        'data = "mini-sprites"\nsteps = 3\nmeasures = ["losses:batches=2"]\n'
        '[objectives.regressor]\nnet = ["cnn:width=4", "mlp:width=8"]\nsteps = 2\n[objectives.vae]\nnet = "fc"\n'
    )
    folder = str(tmp_path / "out")
    assert main(["study", "run", str(file), "--out", folder, "--workers", "1", "--progress", "lines"]) == 0
    told = capsys.readouterr()
    table = pl.read_parquet(tmp_path / "out" / "table.parquet")
    assert table.select("objective", "net", "steps").rows() == [
        ("regressor", "cnn:width=4", 2),
        ("regressor", "mlp:width=8", 2),
        ("vae", "fc", 3),
    ]
    assert "3 evaluated" in told.out
    assert main(["study", "report", folder]) == 0
    page = (tmp_path / "out" / "report" / "report.md").read_text()
    assert "2 or 3 steps, networks `cnn:width=4`, `mlp:width=8`, `fc`" in page
    assert main(["report", folder]) == 0

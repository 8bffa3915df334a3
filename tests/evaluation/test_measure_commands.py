"""Measures as a user has them: own ones from a file, through the command, in studies, killed and gone on with."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from unbraid.cli.app import main

DOTS = str(Path(__file__).parents[1] / "dots.py")

OWN = '''
from dataclasses import dataclass
import numpy as np
from unbraid.evaluation import Measure, register

@register("turned")
@dataclass(frozen=True)
class Turned(Measure):
    """How far codes move when images are turned."""
    images: int = 20

    def rows(self, run, data, seed):
        images = data.images(np.arange(self.images))
        for turn in (1, 2):
            yield {"turn": turn}, {"moved": float(np.abs(run.encode(np.rot90(images, turn, (1, 2)))).mean())}
'''

NOTED = """
import os, signal
from dataclasses import dataclass
from functools import partial
from unbraid.evaluation import Measure, register

@register("noted")
@dataclass(frozen=True)
class Noted(Measure):
    def rows(self, run, data, seed):
        for level in range(5):
            yield {"level": level}, partial(self.look, level)

    def look(self, level):
        if str(level) == os.environ.get("KILLED_AT"):
            os.kill(os.getpid(), signal.SIGKILL)
        with open(os.environ["NOTES"], "a") as file:
            file.write(f"{level} ")
        return {"square": level**2}
"""

STUDY = """
data = ["dots"]
seeds = 2
steps = 5
batch_size = 16
net = "mlp:width=8"
[objectives.beta-vae]
beta = [4]
[options]
latents = 2
[measures.disentanglement]
metrics = ["mig"]
representations = ["mean"]
train = 60
test = 30
data = ["training", "dots:x=::2"]
[measures.turned]
images = 10
[measures.udr]
images = 20
[measures.losses]
batches = 2
"""


def unbraid(*words: object) -> int:
    try:
        return main(["--plugin", DOTS, *map(str, words)])
    except SystemExit as stop:
        return int(stop.code or 0)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    path = tmp_path_factory.mktemp("plugin") / "turned_measure.py"
    path.write_text(OWN)
    assert len(OWN.strip().splitlines()) < 15
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for seed in (0, 1):
        words = "train beta-vae --data dots --net mlp:width=8 --latents 2 --steps 5 --batch-size 8 --progress none"
        assert unbraid(*words.split(), "--seed", seed, "--out", folder / str(seed)) == 0
    return [folder / "0", folder / "1"]


def test_an_own_measure_is_asked_by_name_with_settings(own, runs, capsys):
    words = ["--plugin", own, "evaluate", runs[0], "--measures", "turned:images=7,summary:images=30"]
    assert unbraid(*words) == 0
    told = capsys.readouterr().out
    assert "Turned" in told
    assert "moved" in told
    record = json.loads((runs[0] / "scores.json").read_text())
    assert record["measures"]["turned"]["settings"] == {"images": 7}
    rows = record["measures"]["turned"]["rows"]
    assert [row["condition"] for row in rows] == [{"turn": 1}, {"turn": 2}]
    (file,) = (runs[0] / "scores").glob("turned-*.json")
    assert json.loads(file.read_text())["rows"] == rows
    assert record["summary"]["images"] == 30
    assert record["scores"] == {}
    assert unbraid("list", "measures") == 0
    assert "turned" in capsys.readouterr().out


def test_the_command_s_options_are_settings_of_disentanglement(runs, capsys):
    words = ["--metrics", "mig", "--train", 50, "--test", 20, "--seed", 3, "--json"]
    assert unbraid("evaluate", runs[0], *words) == 0
    usual = json.loads(capsys.readouterr().out)
    assert unbraid("evaluate", runs[0], "--measures", "disentanglement:metrics=mig,train=50,test=20", *words[-3:]) == 0
    named = json.loads(capsys.readouterr().out)
    assert named["scores"] == usual["scores"]
    assert list(usual["scores"]) == ["mig"]
    files = [json.loads(path.read_text()) for path in (runs[0] / "scores").glob("disentanglement-*.json")]
    assert [file["settings"]["representations"] for file in files if file["seed"] == 3] == [["mean"]]


def test_udr_compares_runs_that_differ_in_the_seed_alone(runs, capsys):
    assert unbraid("evaluate", *runs, "--measures", "udr:images=20", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    values = [one["measures"]["udr"]["rows"][0]["scores"]["udr"] for one in found]
    assert all(0 <= value <= 1 for value in values)
    assert [json.loads((run / "scores.json").read_text()) for run in runs] == found
    assert unbraid("evaluate", runs[0], "--measures", "udr") == 0
    assert "none of the runs differs in the seed alone" in capsys.readouterr().err


def test_a_measure_that_does_not_apply_is_named_with_what_it_needs(runs, tmp_path, capsys):
    words = "train pcl --data dots --net mlp:width=8 --latents 2 --steps 2 --batch-size 8 --progress none"
    assert unbraid(*words.split(), "--out", tmp_path / "pcl") == 0
    assert unbraid("evaluate", tmp_path / "pcl", "--representation", "sampled") == 2
    assert "pcl has no sampled codes" in capsys.readouterr().err
    assert unbraid("evaluate", runs[0], "--measures", "summry") == 2
    assert "did you mean 'summary'" in capsys.readouterr().err


def test_what_is_missing_is_said(runs, tmp_path, capsys):
    words = "train classifier --data dots --net mlp:width=8 --factor x --steps 2 --batch-size 8 --progress none"
    assert unbraid(*words.split(), "--out", tmp_path / "classifier") == 0
    assert unbraid("evaluate", tmp_path / "classifier", "--measures", "accuracy:factor=foo") == 2
    assert "accuracy needs a factor 'foo', and dots has x, y" in capsys.readouterr().err
    (tmp_path / "silent_measure.py").write_text(OWN.replace("turned", "silent") + "    def applies(*_): return False\n")
    own = ["--plugin", tmp_path / "silent_measure.py", "evaluate", runs[0], "--measures"]
    assert unbraid(*own, "silent") == 2
    assert "silent needs what its applies(run, data) asks for" in capsys.readouterr().err


def test_where_nothing_applies_the_stored_scores_stay(runs, capsys):
    assert unbraid("evaluate", runs[0], "--metrics", "none") == 0
    before = (runs[0] / "scores.json").read_bytes()
    assert unbraid("evaluate", runs[0], "--measures", "accuracy") == 2
    assert "nothing can be measured of" in capsys.readouterr().err
    assert (runs[0] / "scores.json").read_bytes() == before


def test_what_was_measured_before_stays(runs, tmp_path):
    asked = ["--train", 50, "--test", 20, "--seed", 5]
    assert unbraid("evaluate", runs[0], "--metrics", "mig", *asked) == 0
    mig = json.loads((runs[0] / "scores.json").read_text())["scores"]["mig"]
    assert unbraid("evaluate", runs[0], "--metrics", "mcc", *asked) == 0
    assert unbraid("evaluate", runs[0], "--measures", "losses:batches=2", *asked) == 0
    record = json.loads((runs[0] / "scores.json").read_text())
    assert list(record["scores"]) == ["mig", "mcc"]
    assert record["scores"]["mig"] == mig
    assert record["summary"]["kl_per_latent"]
    assert list(record["measures"]) == ["losses"]
    # Other seeds and other data, also parts of the same name, are other questions.
    for other in (["--seed", 6], ["--seed", 6, "--data", "dots:x=::2"]):
        assert unbraid("evaluate", runs[0], "--metrics", "mig", *asked[:4], *other) == 0
        assert list(json.loads((runs[0] / "scores.json").read_text())["scores"]) == ["mig"]
        assert unbraid("evaluate", runs[0], "--metrics", "mcc", *asked[:4], *other) == 0
    assert unbraid("evaluate", runs[0], "--measures", "losses:batches=2", "--seed", 7) == 0
    assert json.loads((runs[0] / "scores.json").read_text())["scores"] == {}
    # Where none are stored, the page computes its own.
    assert unbraid("report", runs[0], "--out", tmp_path / "page.html") == 0
    assert "Computed for this page" in (tmp_path / "page.html").read_text()


def test_all_representations_that_were_asked_are_shown_and_stored(runs, capsys):
    words = ["evaluate", runs[1], "--seed", 7, "--measures"]
    settings = "metrics=mig,train=50,test=20,representations"
    assert unbraid(*words, f"disentanglement:{settings}=sampled") == 0
    assert "mig" in capsys.readouterr().out
    alone = json.loads((runs[1] / "scores.json").read_text())
    assert (alone["representation"], list(alone["scores"])) == ("sampled", ["mig"])
    assert unbraid(*words, f"disentanglement:{settings}=mean+sampled") == 0
    told = capsys.readouterr().out
    assert told.index("mean codes") < told.index("sampled codes")
    both = json.loads((runs[1] / "scores.json").read_text())
    assert both["representation"] == "mean"
    (row,) = both["measures"]["disentanglement"]["rows"]
    assert row["condition"] == {"representation": "sampled"}
    assert row["scores"]["mig"]["value"] == alone["scores"]["mig"]["value"]


def test_an_evaluation_killed_in_the_middle_goes_on_where_it_was(runs, tmp_path):
    (tmp_path / "noted_measure.py").write_text(NOTED)
    script = "import sys; from unbraid.cli import main; sys.exit(main())"
    words = ["--plugin", DOTS, "--plugin", str(tmp_path / "noted_measure.py"), "evaluate", str(runs[1])]
    command = [sys.executable, "-c", script, *words, "--measures", "noted"]
    environment = {**os.environ, "NOTES": str(tmp_path / "notes")}
    killed = subprocess.run(command, env={**environment, "KILLED_AT": "3"}, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "notes").read_text().split() == ["0", "1", "2"]
    assert not list((runs[1] / "scores").glob("noted-*.json"))
    subprocess.run(command, env=environment, capture_output=True, check=True)
    assert (tmp_path / "notes").read_text().split() == ["0", "1", "2", "3", "4"]
    (file,) = (runs[1] / "scores").glob("noted-*.json")
    rows = json.loads(file.read_text())["rows"]
    assert [(row["condition"]["level"], row["scores"]["square"]) for row in rows] == [(k, k**2) for k in range(5)]
    assert not list((runs[1] / "scores").glob(".*"))


def test_a_study_asks_own_measures_and_names_data(own, tmp_path, capsys):
    (tmp_path / "own.toml").write_text(STUDY)
    out = tmp_path / "out"
    words = ["--plugin", own, "study", "run", tmp_path / "own.toml", "--out", out, "--workers", 2]
    assert unbraid(*words, "--progress", "none") == 0
    table = pl.read_parquet(out / "table.parquet")
    # Two data sets for the codes and two turns are four conditions of each of the two runs.
    assert table.columns[9:13] == ["on", "representation", "turn", "status"]
    assert table.select("index", "on", "representation", "turn").rows() == [
        (index, *condition)
        for index in (0, 1)
        for condition in (("training", "mean", None), ("dots:x=::2", "mean", None), (None, None, 1), (None, None, 2))
    ]
    codes, turned = table.filter(pl.col("turn").is_null()), table.filter(pl.col("turn").is_not_null())
    assert codes["mig"].null_count() == turned["moved"].null_count() == 0
    assert codes["moved"].is_null().all()
    assert turned["mig"].is_null().all()
    assert table["udr"].null_count() == table["loss"].null_count() == 0  # what holds for a run stands in all its rows
    first = codes.filter(pl.col("index") == 0)["mig"].to_list()
    assert first[0] != first[1]
    # Analyses look at runs on their own data; pages show the own measure.
    assert unbraid("--plugin", own, "study", "report", out) == 0
    scores = pl.read_csv(out / "report" / "method_scores.csv")
    own_data = codes.filter(pl.col("on") == "training")
    assert scores.select("metric", "mean", "runs").rows() == [("mig", pytest.approx(own_data["mig"].mean()), 2)]
    assert unbraid("--plugin", own, "report", out, "--out", tmp_path / "page.html") == 0
    page = (tmp_path / "page.html").read_text()
    assert "moved" in page
    assert "dots:x=::2" in page
    capsys.readouterr()
    # The same command again asks nothing again; other settings are asked for by name.
    before = {path: path.stat().st_mtime_ns for path in out.glob("runs/0*/scores/*")}
    (tmp_path / "own.toml").write_text(STUDY.replace("images = 10", "images = 12"))
    assert unbraid(*words) == 2
    assert "turned.images is now 12" in capsys.readouterr().err
    assert unbraid(*words, "--reevaluate", "--progress", "none") == 0
    after = {path: path.stat().st_mtime_ns for path in out.glob("runs/0*/scores/*")}
    assert {path: after[path] for path in before} == before
    assert {path.name.partition("-")[0] for path in after.keys() - before.keys()} == {"turned"}

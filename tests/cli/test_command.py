"""The command line as a user meets it."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unbraid.cli.app import main

PLUGIN = str(Path(__file__).parents[1] / "dots.py")


def unbraid(*words: object) -> int:
    return main([str(word) for word in words])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A model trained through the command, the way the README says."""
    out = tmp_path_factory.mktemp("cli") / "first"
    words = "train beta-vae --data mini-sprites --net mlp:width=64 --beta 1 --learning-rate 1e-3 --steps 300 --seed 0"
    assert unbraid(*words.split(), "--progress", "none", "--out", out) == 0
    return out


def test_training_says_what_it_reached_and_what_to_do_next(run, capsys):
    assert unbraid(*"train beta-vae --data mini-sprites --net mlp:width=64 --beta 1 --learning-rate 1e-3".split(),
                   "--steps", 300, "--out", run, "--json") == 0  # fmt: skip
    told = json.loads(capsys.readouterr().out)
    assert told["status"] == "finished"
    assert told["step"] == 300
    assert told["last"]["step"] == 300
    assert told["last"]["loss"] == pytest.approx(told["last"]["reconstruction"] + told["last"]["penalty"], rel=1e-6)


@pytest.mark.parametrize(
    ("words", "look"),
    [
        ("vae --data mini-sprites", "traverse"),
        ("vae --likelihood gaussian --data synth-linear", "report"),
        ("classifier --data digits8", "report"),
    ],
)
def test_what_to_do_next_is_not_refused(words, look, tmp_path, capsys):
    options = ("--net", "mlp:width=8", "--steps", 1, "--progress", "none", "--out", tmp_path / "run")
    assert unbraid("train", *words.split(), *options) == 0
    assert f"or   unbraid {look} {tmp_path / 'run'}" in capsys.readouterr().out
    assert unbraid(look, tmp_path / "run") == 0


def test_evaluate_prints_a_table_and_writes_scores_and_a_heat_map(run, capsys):
    words = ["evaluate", run, "--metrics", "mig,modularity,factor_vae", "--train", 400, "--test", 200, "--points", 50]
    assert unbraid(*words) == 0
    text = capsys.readouterr().out
    for word in ("Reconstruction", "Active latents", "ceiling", "mig", "modularity", "factor_vae"):
        assert word in text
    scores = json.loads((run / "scores.json").read_text())
    assert set(scores["scores"]) == {"mig", "modularity", "factor_vae"}
    assert scores["step"] == 300
    assert 0 <= scores["scores"]["mig"]["value"] <= scores["scores"]["mig"]["ceiling"] <= 1
    assert scores["summary"]["elbo"] == pytest.approx(-scores["summary"]["reconstruction"] - scores["summary"]["kl"])
    with Image.open(run / "factors.png") as picture:
        assert picture.width > 300


def test_evaluate_takes_models_without_a_decoder_and_data_with_measured_factors(tmp_path, capsys):
    words = "train pcl --data natural-sprites:size=8,channels=1 --net mlp:width=8 --steps 3 --batch-size 4"
    assert unbraid(*words.split(), "--progress", "none", "--out", tmp_path / "pcl") == 0
    assert unbraid("evaluate", tmp_path / "pcl", "--metrics", "mcc", "--train", 200) == 0
    assert "mcc" in capsys.readouterr().out
    found = json.loads((tmp_path / "pcl" / "scores.json").read_text())
    assert found["summary"]["reconstruction"] is None
    assert len(found["scores"]["mcc"]["parts"]["per_factor"]) == 5


def test_evaluate_scores_codes_from_a_file(tmp_path, capsys):
    grid = np.indices((4, 5)).reshape(2, -1).T.repeat(30, axis=0)
    np.savez(tmp_path / "codes.npz", codes=grid.astype(float), factors=grid)
    assert unbraid("evaluate", "--codes", tmp_path / "codes.npz", "--metrics", "mig,mcc", "--json") == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["mig"]["value"] == pytest.approx(1.0)
    assert scores["mcc"]["value"] == pytest.approx(1.0)


ALONE = {"gaussian_total_correlation", "wasserstein_correlation", "pairwise_mutual_information"}


def test_evaluate_scores_codes_without_factors_as_far_as_it_goes(tmp_path, capsys):
    file = tmp_path / "codes.npz"
    np.savez(file, codes=np.random.default_rng(0).normal(size=(100, 3)))
    assert unbraid("evaluate", "--codes", file) == 0
    told = capsys.readouterr().out
    assert "wasserstein_correlation" in told
    assert f"The other scores need factors: put an array 'factors' [n, K] into {file}." in told
    assert unbraid("evaluate", "--codes", file, "--json") == 0
    assert set(json.loads(capsys.readouterr().out)) == ALONE
    assert unbraid("evaluate", "--codes", file, "--metrics", "mig") == 2
    told = capsys.readouterr().err
    assert all(name in told for name in ("mig cannot do without", *ALONE))


def test_evaluate_scores_the_codes_alone_where_data_have_no_factors(tmp_path, capsys):
    images = np.random.default_rng(0).integers(0, 256, size=(40, 8, 8), dtype=np.uint8)
    np.savez(tmp_path / "own.npz", images=images)
    out, words = tmp_path / "run", ["--net", "mlp:width=8", "--steps", 2, "--progress", "none"]
    assert unbraid("train", "vae", "--data", tmp_path / "own.npz", *words, "--out", out) == 0
    assert unbraid("evaluate", out, "--train", 50) == 0
    assert "The other scores need factors" in capsys.readouterr().out
    assert set(json.loads((out / "scores.json").read_text())["scores"]) == ALONE
    assert unbraid("evaluate", out, "--metrics", "gaussian_total_correlation", "--train", 50) == 0
    assert "The other scores need factors" not in capsys.readouterr().out
    assert unbraid("evaluate", out, "--metrics", "mig", "--train", 50) == 2
    told = capsys.readouterr().err
    assert all(name in told for name in ("mig cannot do without", *ALONE))


def test_evaluate_takes_classes_for_a_factor_and_says_so(tmp_path, capsys):
    images = np.random.default_rng(0).integers(0, 256, size=(40, 8, 8), dtype=np.uint8)
    np.savez(tmp_path / "own.npz", images=images, labels=np.arange(40) % 3)
    out, words = tmp_path / "run", ["--net", "mlp:width=8", "--steps", 2, "--progress", "none"]
    assert unbraid("train", "vae", "--data", tmp_path / "own.npz", *words, "--out", out) == 0
    assert unbraid("evaluate", out, "--metrics", "mig", "--train", 50) == 0
    assert set(json.loads((out / "scores.json").read_text())["scores"]) == {"mig"}
    assert unbraid("evaluate", out, "--train", 50) == 0
    assert "knows: the class of each image" in capsys.readouterr().out


def test_scores_for_sharing_do_not_say_where_they_lay(tmp_path):
    np.savez(tmp_path / "own.npz", images=np.zeros((40, 8, 8), dtype=np.uint8))
    out, words = tmp_path / "run", ["--net", "mlp:width=8", "--steps", 2, "--progress", "none"]
    assert unbraid("train", "vae", "--data", tmp_path / "own.npz", *words, "--out", out) == 0
    assert unbraid("evaluate", out, "--measures", "summary") == 0
    told = (out / "scores.json").read_text()
    assert (json.loads(told)["run"], json.loads(told)["data"]) == ("run", "own.npz")
    assert str(tmp_path) not in told
    for data in ("own.npz", str(tmp_path / "own.npz")):  # earlier versions wrote the whole path
        (out / "scores.json").write_text(json.dumps(json.loads(told) | {"data": data}))
        assert unbraid("report", out) == 0
        assert "was measured on" not in (out / "report.html").read_text()


def test_a_grid_with_every_factor_fixed_is_evaluated_and_reported(tmp_path, capsys):
    out, words = tmp_path / "run", ["--net", "mlp:width=8", "--steps", 5, "--progress", "none"]
    assert unbraid("train", "vae", "--data", "mini-sprites:shape=0,scale=0,x=0,y=0", *words, "--out", out) == 0
    assert unbraid("evaluate", out) == 0
    told = capsys.readouterr().out
    assert "Active latents" in told
    assert "Scores need factors" in told
    assert unbraid("evaluate", out, "--representation", "sampled", "--train", 50) == 0
    assert set(json.loads((out / "scores.json").read_text())["scores"]) == ALONE
    assert unbraid("report", out) == 0
    assert "Reconstructions" in (out / "report.html").read_text()


def test_evaluate_lists_its_metrics(capsys):
    assert unbraid("evaluate", "--metrics", "help") == 0
    assert "mig" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["posterior", "prior", "range"])
def test_traverse_draws_a_row_per_latent_sorted_by_kl(run, kind, capsys, tmp_path):
    assert unbraid("traverse", run, "--kind", kind, "--values", 5, "--out", tmp_path, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert sorted(told["latents"]) == list(range(10))
    assert told["kl"] == sorted(told["kl"], reverse=True)
    with Image.open(tmp_path / "traversal.png") as grid:
        assert grid.height >= 10 * 64
    with Image.open(tmp_path / "traversal.gif") as animation:
        assert animation.n_frames == 8  # five there, three back


def test_plugins_bring_own_data(tmp_path, capsys):
    words = ["--plugin", PLUGIN, "train", "ae", "--data", "dots:x=::2", "--net", "mlp:width=8", "--steps", 2]
    assert unbraid(*words, "--out", tmp_path / "run", "--progress", "none") == 0
    info = json.loads((tmp_path / "run" / "run.json").read_text())
    assert info["data"]["recipe"] == {"name": "dots", "options": {"x": "::2"}}
    assert info["data"]["images"] == 72
    assert unbraid("--plugin", PLUGIN, "evaluate", tmp_path / "run", "--metrics", "none") == 0
    assert "dots" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trian"], "did you mean 'train'"),
        (["train", "beta-vea"], "did you mean 'beta-vae'"),
        (["data", "shw"], "did you mean 'show'"),
        (["train", "vae", "--data", "sprite32", "--out", "x"], "did you mean 'sprites32'"),
        (["train", "vae", "--data", "mini-sprites:shap=1", "--out", "x"], "did you mean 'shape'"),
        (["train", "vae", "--data", "mini-sprites:shape=9", "--out", "x"], "distinct values of 0..2"),
        (
            ["train", "beta-vae", "--beta", "-1", "--data", "mini-sprites", "--out", "x"],
            "beta must be a number that is not negative",
        ),
        (["train", "vae", "--net", "cnov", "--data", "mini-sprites", "--out", "x"], "did you mean 'conv'"),
        (["evaluate", "nowhere"], "there is no folder"),
        (["evaluate"], "give at least one run"),
        (["evaluate", "--codes", "nowhere.npz"], "nowhere.npz"),
        (["traverse", "nowhere"], "there is no folder"),
        (["--plugin", "nowhere.py", "data", "list"], "no such Python file"),
        (["completion", "fsh"], "did you mean 'fish'"),
    ],
)
def test_errors_are_one_line_that_names_the_remedy(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert unbraid(*words) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.startswith("unbraid: ")
    assert told.count("\n") == 1


def test_a_plugin_does_not_take_the_place_of_a_module(tmp_path, capsys):
    (tmp_path / "json.py").write_text("raise SystemExit('imported')")
    assert unbraid("--plugin", tmp_path / "json.py", "data", "list") == 2
    assert "give the file another name" in capsys.readouterr().err
    assert sys.modules["json"] is json


@pytest.mark.parametrize("name", ["codes.npy", "cut.npz", "other.npz"])
def test_a_file_without_codes_is_named(name, tmp_path, capsys):
    np.save(tmp_path / "codes.npy", np.zeros((4, 2)))
    np.savez(tmp_path / "other.npz", images=np.zeros((4, 2)))
    (tmp_path / "cut.npz").write_bytes((tmp_path / "other.npz").read_bytes()[:100])
    assert unbraid("evaluate", "--codes", tmp_path / name) == 2
    assert name in capsys.readouterr().err


def test_what_the_system_refuses_is_told_without_a_traceback(run, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert unbraid("traverse", run, "--out", tmp_path / "file") == 2
    assert capsys.readouterr().err.startswith("unbraid: ")


def test_a_wrong_option_gets_the_nearest_one(capsys):
    with pytest.raises(SystemExit) as stop:
        unbraid("train", "beta-vae", "--bta", "3", "--data", "x", "--out", "y")
    assert stop.value.code == 2
    assert "--beta" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [["--help"], ["train", "--help"], ["train", "beta-vae", "--help"], ["completion", "bash"], ["trian"],
     ["train", "vae", "--data", "sprite32", "--out", "x"], ["data", "list"]],
)  # fmt: skip
def test_help_completion_and_errors_do_without_torch(words):
    script = (
        "import sys\nfrom unbraid.cli.app import main\n"
        f"try: main({words!r})\nexcept SystemExit: pass\n"
        "assert not {'torch', 'sklearn', 'numba', 'matplotlib', 'polars'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_the_package_runs_as_a_module_and_says_its_version():
    words = [sys.executable, "-m", "unbraid", "--version"]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert said == f"unbraid {version('unbraid')}\n"


def test_help_teaches_the_options_of_an_objective(capsys):
    with pytest.raises(SystemExit):
        unbraid("train", "beta-vae", "--help")
    text = capsys.readouterr().out
    assert "Weight of the KL divergence to the prior" in text
    assert "--steps" in text

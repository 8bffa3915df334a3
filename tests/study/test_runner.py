"""Studies as a user runs them: through the command, killed, resumed, shared, edited."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from unbraid.cli.app import main
from unbraid.evaluation import get
from unbraid.study import open_study, read_study
from unbraid.study.stages import evaluate_index

PLUGIN = str(Path(__file__).parent / "study_plugin.py")

STUDY = """
data = ["dots"]
seeds = 2
steps = 40
batch_size = 16
net = "mlp:width=16"
[objectives.beta-vae]
beta = [1, 4]
[objectives.dip-vae-i]
lambda_od = [1, 10]
[options]
latents = 3
[evaluation]
metrics = ["mig", "gaussian_total_correlation"]
train = 100
test = 50
batches = 3
images = 30
"""


def unbraid(*words: object) -> int:
    try:
        return main(["--plugin", PLUGIN, *map(str, words)])
    except SystemExit as stop:
        return int(stop.code or 0)


def start(*words: object, **environment: str) -> subprocess.Popen:
    """The command in a process of its own."""
    script = "import sys; from unbraid.cli import main; sys.exit(main())"
    return subprocess.Popen(
        [sys.executable, "-c", script, "--plugin", PLUGIN, *map(str, words)],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def results(folder: Path) -> dict[str, bytes]:
    """The files that must not depend on how a study was carried out."""
    patterns = ("checkpoint.safetensors", "history.csv", "evaluation.json", "scores/*")
    files = (path for run in sorted(folder.glob("runs/0*")) for pattern in patterns for path in run.glob(pattern))
    return {str(path.relative_to(folder / "runs")): path.read_bytes() for path in sorted(files)}


def wait_until(condition, seconds=180.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "tiny.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture(scope="module")
def finished(file, tmp_path_factory):
    """The whole study, one run after the other."""
    out = tmp_path_factory.mktemp("finished") / "out"
    assert unbraid("study", "run", file, "--out", out, "--workers", 1, "--progress", "none") == 0
    return out


def test_a_study_leaves_a_folder_per_run_and_one_table(finished):
    assert sorted(p.name for p in finished.glob("runs/0*")) == [f"{index:05d}" for index in range(8)]
    table = pl.read_parquet(finished / "table.parquet")
    assert len(table) == 8 * 2
    assert table["representation"].to_list() == ["mean", "sampled"] * 8
    assert table["index"].to_list() == [index for index in range(8) for _ in range(2)]
    assert set(table["status"]) == {"evaluated"}
    assert table["strength_name"].to_list() == ["beta"] * 8 + ["lambda_od"] * 8
    assert table["strength"].to_list() == [v for v in (1, 4, 1, 10) for _ in range(4)]
    for column in ("mig", "mig_ceiling", "gaussian_total_correlation", "reconstruction", "kl", "elbo", "loss",
                   "regularizer", "seconds", "udr"):  # fmt: skip
        assert table[column].null_count() == 0, column
    assert (table["elbo"] + table["reconstruction"] + table["kl"]).abs().max() < 1e-6
    assert (table["loss"] - table["reconstruction"] - table["regularizer"]).abs().max() < 1e-6


def test_two_workers_give_the_same_bytes_as_one(file, finished, tmp_path):
    assert unbraid("study", "run", file, "--out", tmp_path, "--workers", 2, "--progress", "none") == 0
    assert results(tmp_path) == results(finished)
    both = [pl.read_parquet(folder / "table.parquet").drop("seconds") for folder in (tmp_path, finished)]
    assert both[0].equals(both[1], null_equal=True)


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'unbraid[ray]'")
def test_ray_gives_the_same_bytes_as_processes(file, finished, tmp_path):
    words = ["study", "run", file, "--out", tmp_path, "--engine", "ray", "--workers", 2, "--progress", "none"]
    assert unbraid(*words) == 0
    assert results(tmp_path) == results(finished)


def test_a_second_call_does_nothing_again(file, finished, capsys):
    before = {path: path.stat().st_mtime_ns for path in finished.glob("runs/0*/*")}
    assert unbraid("study", "run", file, "--out", finished, "--json") == 0
    assert {path: path.stat().st_mtime_ns for path in finished.glob("runs/0*/*")} == before
    assert json.loads(capsys.readouterr().out)["states"] == {"evaluated": 8}


def test_shards_are_done_one_by_one(file, finished, tmp_path, capsys):
    words = ["study", "run", file, "--out", tmp_path, "--workers", 2]
    assert unbraid(*words, "--index", "0:2", "--stage", "train") == 0
    assert "2 runs: 2 trained" in capsys.readouterr().out
    assert not list(tmp_path.glob("runs/*/scores/*"))
    assert unbraid(*words, "--index", "1:4") == 0
    assert unbraid("study", "status", tmp_path) == 0
    told = capsys.readouterr().out
    assert "8 runs: 3 evaluated, 1 trained, 4 pending" in told
    assert "without scores: 0, 4-7" in told
    assert len(pl.read_parquet(tmp_path / "table.parquet")) == 3 * 2 + 1  # what is not measured has one row
    assert unbraid(*words, "--stage", "evaluate") == 0
    done = results_of(tmp_path, range(4))
    assert done == results_of(finished, range(4))


def results_of(folder, indices):
    wanted = tuple(f"{index:05d}/" for index in indices)
    return {name: content for name, content in results(folder).items() if name.startswith(wanted)}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_study_stopped_midway_goes_on_and_ends_with_the_same_bytes(number, file, finished, tmp_path):
    out = tmp_path / "out"
    process = start("study", "run", file, "--out", out, "--workers", 2)
    wait_until(lambda: list(out.glob("runs/*/evaluation.json")))
    process.send_signal(number)
    told = process.communicate(timeout=120)
    assert process.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 130), told
    assert not (out / "failures").exists()
    assert unbraid("study", "run", file, "--out", out, "--workers", 2) == 0
    assert results(out) == results(finished)


def test_two_runners_on_one_folder_never_do_the_same_run_twice(tmp_path):
    text = (
        STUDY.replace("beta-vae", "noted-vae").replace("[1, 4]", "[1, 2, 3, 4, 5, 6]").replace("seeds = 2", "seeds = 1")
    )
    (tmp_path / "noted.toml").write_text(text)
    words = ["study", "run", tmp_path / "noted.toml", "--out", tmp_path / "out", "--workers", 2]
    runners = [start(*words, NOTES=str(tmp_path / "notes")) for _ in range(2)]
    for runner in runners:
        _, told = runner.communicate(timeout=120)
        assert runner.returncode == 0, told
    trained = Counter((tmp_path / "notes").read_text().split())
    assert trained == {f"{beta}": 1 for beta in range(1, 7)}
    assert len(pl.read_parquet(tmp_path / "out" / "table.parquet").filter(pl.col("status") == "evaluated")) == 8 * 2


def test_a_failing_run_is_recorded_and_the_rest_goes_on(tmp_path, capsys):
    file, out = tmp_path / "bad.toml", tmp_path / "out"
    text = STUDY.replace("seeds = 2", "seeds = 1").replace("[1, 10]", "[7]\nlearning_rate = 1e30")
    file.write_text(text)
    assert unbraid("study", "run", file, "--out", out, "--workers", 2, "--progress", "lines") == 1
    told = capsys.readouterr()
    assert "3 runs: 2 evaluated, 1 failed" in told.out
    assert "run 00002 failed to train (dip-vae-i lambda_od 7 (mlp:width=16) on dots, seed 0)" in told.err
    failure = json.loads((out / "failures" / "00002.json").read_text())
    assert "Try a smaller --learning-rate" in failure["error"]
    assert "Traceback" in failure["traceback"]
    table = pl.read_parquet(out / "table.parquet")
    failed = table.filter(pl.col("index") == 2)
    assert failed.select("status", "error", "representation", "mig").rows() == [
        ("failed", failure["error"], None, None)
    ]
    # The same command leaves it alone; --retry-failed tries again, and it fails again.
    assert unbraid("study", "run", file, "--out", out, "--progress", "lines") == 1
    assert "failed to train" not in capsys.readouterr().err
    assert unbraid("study", "run", file, "--out", out, "--progress", "lines", "--retry-failed") == 1
    assert "failed to train" in capsys.readouterr().err
    # Reports are made from the runs that there are.
    assert unbraid("study", "report", out) == 0
    assert (out / "report" / "correlation_of_codes.csv").exists()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("steps = 40", "steps = 50", "steps is now [50]"),
        ("seeds = 2", "seeds = 3", "seeds is now [0, 1, 2]"),
        ("beta = [1, 4]", "beta = [1, 5]", "objectives is now beta-vae"),
        ("[objectives.dip-vae-i]\nlambda_od = [1, 10]", "", "objectives is now nothing, but"),
        ("latents = 3", "latents = 4", "objectives is now beta-vae"),
        ("batch_size = 16", "batch_size = 8", "batch_size is now 8"),
        ("train = 100", "train = 200", "disentanglement.train is now 200"),
    ],
)
def test_an_edited_study_file_is_refused(old, new, words, finished, tmp_path, capsys):
    edited = tmp_path / "edited.toml"
    edited.write_text(STUDY.replace(old, new))
    assert unbraid("study", "run", edited, "--out", finished) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"unbraid: {edited}: ")
    assert words in told
    assert "--out" in told or "--reevaluate" in told


def test_data_sets_may_be_added_at_the_end(file, tmp_path):
    out = tmp_path / "out"
    assert unbraid("study", "run", file, "--out", out, "--index", "0") == 0
    before = results_of(out, [0])
    more = tmp_path / "more.toml"
    more.write_text(STUDY.replace('["dots"]', '["dots", "dots:x=::2"]'))
    assert unbraid("study", "run", more, "--out", out, "--index", "8") == 0
    assert results_of(out, [0]) == before
    assert open_study(out).study[8].data == "dots:x=::2"


def test_other_scores_can_be_asked_for_later(file, tmp_path):
    out, edited = tmp_path / "out", tmp_path / "edited.toml"
    assert unbraid("study", "run", file, "--out", out, "--index", "0:2") == 0
    edited.write_text(STUDY.replace('"mig", ', '"modularity", '))
    assert unbraid("study", "run", edited, "--out", out, "--index", "0:2", "--reevaluate") == 0
    columns = pl.read_parquet(out / "table.parquet").columns
    assert "modularity" in columns
    assert "mig" not in columns


def test_answers_that_are_lost_or_of_an_earlier_version_are_computed_again(file, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    words = ("study", "run", file, "--out", out, "--index", "0", "--workers", "1", "--json")
    assert unbraid(*words) == 0
    (scores,) = out.glob("runs/00000/scores/disentanglement-*.json")
    before = scores.read_bytes()
    scores.unlink()
    assert open_study(out).state(0) == "trained"
    assert unbraid(*words) == 0
    assert scores.read_bytes() == before
    assert open_study(out).state(0) == "evaluated"
    monkeypatch.setattr(get("disentanglement"), "version", 2)
    assert open_study(out).state(0) == "trained"
    assert evaluate_index(str(out), 0) == "done"
    assert open_study(out).state(0) == "evaluated"
    assert len(list(out.glob("runs/00000/scores/disentanglement-*.json"))) == 2
    capsys.readouterr()


def test_reevaluating_asks_every_measure_and_reads_what_is_there(file, tmp_path):
    out = tmp_path / "out"
    words = ("study", "run", file, "--out", out, "--index", "0", "--workers", "1")
    assert unbraid(*words) == 0
    before = {path: path.stat().st_mtime_ns for path in out.glob("runs/00000/scores/*")}
    written = (out / "runs/00000/evaluation.json").stat().st_mtime_ns
    assert unbraid(*words, "--reevaluate") == 0
    assert (out / "runs/00000/evaluation.json").stat().st_mtime_ns > written
    assert {path: path.stat().st_mtime_ns for path in out.glob("runs/00000/scores/*")} == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["study", "run", "smal", "--out", "x"], "did you mean 'small'"),
        (["study", "run", "FILE", "--out", "x", "--index", "9"], "outside this study's 0:8"),
        (["study", "run", "FILE", "--out", "x", "--workers", "0"], "workers must be at least 1"),
        (["study", "run", "FILE", "--out", "x", "--address", "here"], "is for --engine ray"),
        (["study", "status", "nowhere"], "there is no folder nowhere"),
        (["study", "report", "."], "holds no study"),
        (["study", "rum"], "did you mean 'run'"),
    ],
)
def test_wrong_words_are_answered_in_one_line(words, message, file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert unbraid(*[str(file) if word == "FILE" else word for word in words]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1


def test_a_network_that_does_not_exist_is_refused_before_anything_runs(tmp_path, capsys):
    (tmp_path / "s.toml").write_text(STUDY.replace("mlp:width", "mpl:width"))
    assert unbraid("study", "run", tmp_path / "s.toml", "--out", tmp_path / "out") == 2
    assert "did you mean 'mlp'" in capsys.readouterr().err
    assert not list((tmp_path / "out").glob("runs/0*"))


def test_what_a_killed_evaluation_left_unfinished_is_removed(finished, tmp_path):
    out = shutil.copytree(finished, tmp_path / "copy")
    left = [out / "runs" / "00000" / name for name in (".evaluation.json.1.part", "scores/.udr-0.npz.1.part")]
    for path in left:
        path.write_bytes(b"half")
    assert evaluate_index(str(out), 0) == "done"
    assert not any(path.exists() for path in left)


def test_measure_data_of_another_size_are_refused_before_anything_runs(tmp_path, capsys):
    file = tmp_path / "sizes.toml"
    text = STUDY.partition("[evaluation]")[0]
    file.write_text(text + '[measures.disentanglement]\nmetrics = ["mig"]\ndata = ["training", "digits8"]\n')
    assert unbraid("study", "run", file, "--out", tmp_path / "out") == 2
    assert (
        "measures.disentanglement.data: digits8 has the shape (8, 8, 1), models of dots take" in capsys.readouterr().err
    )
    assert not list((tmp_path / "out" / "runs").glob("*/run.json"))


def test_a_study_can_be_run_from_python(finished, file, tmp_path):
    from unbraid.engines import ProcessEngine
    from unbraid.study import coverage, run_study

    folder = run_study(
        read_study(file), tmp_path, engine=ProcessEngine(1), indices=[3], plugins=[PLUGIN], progress="none"
    )
    assert coverage(folder).states[3] == "evaluated"
    assert results_of(tmp_path, [3]) == results_of(finished, [3])


@pytest.mark.slow
def test_the_smoke_preset_answers_every_question(tmp_path, capsys):
    out = tmp_path / "out"
    assert unbraid("study", "run", "smoke", "--out", out, "--progress", "none") == 0
    assert unbraid("study", "report", out, "--json") == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["states"] == {"evaluated": 8}
    assert set(told["answers"].values()) == {"written"}
    table = pl.read_parquet(out / "table.parquet")
    for column in ("beta_vae", "factor_vae", "dci_disentanglement", "sap", "lr_100", "gbt_efficiency"):
        assert table[column].is_not_null().all(), column
    # beta = 1 makes both objectives the plain VAE: equal seeds, equal scores.
    plain = table.filter(pl.col("strength") == 1).sort("objective", "seed", "representation")
    assert plain["mig"][:4].to_list() == plain["mig"][4:].to_list()

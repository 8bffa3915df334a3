"""unbraid generalize run | report | table | show, and what becomes of a benchmark that is interrupted."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import polars as pl
import pytest

from unbraid.cli.app import main
from unbraid.cli.generalize_tables import json_rows
from unbraid.study import coverage, open_study

FILE = """
name = "tiny"
data = "mini-sprites"
splits = ["random", "extrapolation"]
seeds = 2
steps = 30
[[objectives.regressor]]
net = ["mlp:width=16", "cnn:width=4"]
learning_rate = 3e-3
[measures.generalization]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A benchmark of eight runs."""
    there = tmp_path_factory.mktemp("bench")
    (there / "tiny.toml").write_text(FILE)
    words = ["generalize", "run", str(there / "tiny.toml"), "--out", str(there / "bench")]
    assert main([*words, "--workers", "2", "--progress", "none"]) == 0
    return there / "bench"


def test_a_model_on_a_split_with_a_seed_is_a_run(folder):
    table = pl.read_parquet(folder / "table.parquet")
    assert len(table) == 2 * 2 * 2
    assert set(table["data"]) == {"mini-sprites:split=random", "mini-sprites:split=extrapolation"}
    assert table["r2_test"].null_count() == 0


@pytest.mark.parametrize("how", ["lost", "cut"])
def test_predictions_that_are_gone_or_damaged_are_made_anew(how, folder, tmp_path, capsys):
    bench, file = shutil.copytree(folder, tmp_path / "bench"), folder.parent / "tiny.toml"
    (said,) = (bench / "runs" / "00003" / "scores").glob("generalization-*.parquet")
    whole = pl.read_parquet(said)
    again = ["generalize", "run", str(file), "--out", str(bench), "--workers", "1", "--progress", "none"]
    if how == "lost":
        said.unlink()
        assert coverage(open_study(bench)).count("evaluated") == 7
        assert main(again) == 0
    else:
        said.write_bytes(said.read_bytes()[:-300])
        assert main(["generalize", "table", str(bench)]) == 2
        assert f"{said.name}" in (told := capsys.readouterr().err)
        assert "unbraid generalize run FILE --out" in told
        assert "--reevaluate" in told
        assert main([*again, "--reevaluate"]) == 0
    assert pl.read_parquet(said).equals(whole)


def test_the_table_is_printed_and_written(folder, tmp_path, capsys):
    assert main(["generalize", "table", str(folder)]) == 0
    told = capsys.readouterr().out
    assert "mlp:width=16" in told
    assert "clamp" in told
    assert main(["generalize", "table", str(folder), "modularity", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["split"] for row in rows} == {"extrapolation"}
    for name in ("t.csv", "t.parquet"):
        assert main(["generalize", "table", str(folder), "towards", "--out", str(tmp_path / name)]) == 0
    assert len(pl.read_csv(tmp_path / "t.csv")) == len(pl.read_parquet(tmp_path / "t.parquet")) == 4
    capsys.readouterr()
    assert main(["generalize", "table", str(folder), "--out", "t.txt"]) == 2
    assert "must end in .csv or .parquet" in capsys.readouterr().err


def test_one_model_is_shown_with_its_picture(folder, tmp_path, capsys):
    picture = tmp_path / "one.png"
    words = ["generalize", "show", str(folder), "--model", "CNN:width=4", "--seed", "1", "--out", str(picture)]
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["title"] == "cnn:width=4 mini-sprites extrapolation, seed 1"
    assert [row["factor"] for row in told["table"]] == ["shape", "scale", "x", "y", "mean"]
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert main(["generalize", "show", str(folder), "--split", "random"]) == 0
    assert "no picture" in capsys.readouterr().out
    assert main(["generalize", "show", str(folder), "--model", "cn"]) == 2
    assert "unknown model 'cn'" in capsys.readouterr().err
    assert main(["generalize", "show", str(folder), "--seed", "7"]) == 2
    assert "unknown seed '7'" in capsys.readouterr().err


def test_a_single_run_is_shown_too(folder, tmp_path, capsys):
    run = next(path.parent for path in folder.glob("runs/*/run.json") if "extrapolation" in path.read_text())
    assert main(["generalize", "show", str(run), "--out", str(tmp_path / "run.png")]) == 0
    assert "mini-sprites extrapolation: R²" in capsys.readouterr().out


def test_the_report_tells_its_verdicts(folder, tmp_path, capsys):
    assert main(["generalize", "report", str(folder), "--out", str(tmp_path / "page.html"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in told["findings"]] == ["a", "b", "c", "d1", "d2"]
    assert "Reproduce it" in (tmp_path / "page.html").read_text()


def test_a_benchmark_without_answers_says_what_to_do(tmp_path, capsys):
    (tmp_path / "tiny.toml").write_text(FILE)
    words = ["generalize", "run", str(tmp_path / "tiny.toml"), "--out", str(tmp_path / "bench"), "--index", "0"]
    assert main([*words, "--stage", "train", "--workers", "1", "--progress", "none"]) == 0
    capsys.readouterr()
    assert main(["generalize", "report", str(tmp_path / "bench")]) == 2
    assert "holds no run that was asked about its split" in capsys.readouterr().err


def test_the_same_seed_gives_the_same_report_also_after_an_interruption(folder, tmp_path):
    # The same benchmark elsewhere, killed while runs are trained, then gone on with.
    (tmp_path / "tiny.toml").write_text(FILE)
    words = [sys.executable, "-m", "unbraid", "generalize", "run", "tiny.toml", "--out", "bench", "--workers", "2"]
    started = subprocess.Popen([*words, "--progress", "none"], cwd=tmp_path, start_new_session=True)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("bench/runs/*/run.json")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()
    subprocess.run([*words, "--progress", "none"], cwd=tmp_path, check=True, capture_output=True)
    for place in (folder.parent, tmp_path):
        report = [sys.executable, "-m", "unbraid", "generalize", "report", "bench", "--out", "page.html"]
        subprocess.run(report, cwd=place, check=True, capture_output=True)
    assert (tmp_path / "page.html").read_bytes() == (folder.parent / "page.html").read_bytes()


def test_numbers_that_are_not_defined_are_null_in_json():
    table = pl.DataFrame({"model": ["CNN", "MLP"], "r2": [0.5, float("nan")], "steps": [1, 2]})
    rows = json.loads(json.dumps(json_rows(table), allow_nan=False))
    assert rows == [{"model": "CNN", "r2": 0.5, "steps": 1}, {"model": "MLP", "r2": None, "steps": 2}]

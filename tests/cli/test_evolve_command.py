"""unbraid evolve run and status, as typed."""

import json
import re
from pathlib import Path

import pytest

from unbraid.cli.app import main

DOTS = str(Path(__file__).parents[1] / "dots.py")
WORDS = ["evolve", "run", "--plugin", DOTS, "--data", "dots", "--members", "2", "--images", "64", "--generations", "2"]
TINY = ["--option", "net=mlp:width=8", "latents=2", "--search", "beta=1,2", "batch_size=16", "--progress", "none"]


def test_a_population_is_trained_told_and_looked_at_again(tmp_path, capsys):
    out = str(tmp_path / "population")
    assert main([*WORDS, *TINY, "--out", out, "--score", "udr", "--models", "2", "--workers", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["state"] == "finished"
    assert len(told["best_scores"]) == 2
    assert (Path(told["best"]["run"]) / "run.json").exists()
    assert told["best"]["hyperparameters"].keys() == {"learning_rate", "batch_size", "beta"}
    assert main(["evolve", "status", out]) == 0
    words = capsys.readouterr().out
    assert words.startswith("beta-tcvae with network mlp:width=8: finished after 2 of 2 generations")
    assert "found the same latents" in words
    # Words count from 1, as the display of progress does; the folder's name stands beside them.
    assert re.search(r"of each generation: 1: \d\.\d{3}  2: \d\.\d{3}\n", words)
    folder = f"generations/{told['best']['generation']:03d}/member-{told['best']['member']:02d}"
    assert re.search(rf"in generation {told['best']['generation'] + 1} \(.*\), folder {folder}\n", words)
    assert folder in told["best"]["run"]
    assert main(["report", out]) == 0
    assert main(["explore", out, "--out", str(tmp_path / "page"), "--images", "8", "--sample", "32"]) == 0
    assert (tmp_path / "population" / "report.html").stat().st_size > 1000
    assert (tmp_path / "page" / "decoder.js").exists()
    assert f"next: unbraid evaluate {told['best']['run']}" in words


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--score", "migg"], "did you mean 'mig'"),
        (["--score", "udr", "--models", "1"], "models must be at least 2"),
        (["--search", "beta=a,b"], "values of beta must be numbers"),
        (["--search", "batch_size=2.5"], "must be whole numbers"),
        (["--option", "net"], "write NAME=VALUE"),
        (["--option", "nett=mlp"], "unknown option"),
        (["--address", "host:1"], "is for --engine ray"),
    ],
)
def test_what_is_wrong_is_told(words, message, tmp_path, capsys):
    assert main([*WORDS, "--out", str(tmp_path / "p"), "--progress", "none", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_without_a_population_is_told(tmp_path, capsys):
    assert main(["evolve", "status", str(tmp_path)]) == 2
    assert "holds no population" in capsys.readouterr().err


def test_one_generation_is_a_random_search_that_lists_all_members_best_first(tmp_path, capsys):
    words = "evolve run --objective slow-vae --data mini-sprites --score udr --models 2 --members 3 --generations 1"
    more = "--images 64 --search gamma=1..16 rate=1..10 learning_rate=1e-3 batch_size=16 --option net=mlp:width=8"
    assert main([*words.split(), *more.split(), "--workers", "1", "--progress", "none", "--out", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.split()[:2] == ["udr", "hyperparameters"])
    rows = [line.split(maxsplit=2) for line in lines[start + 1 : start + 4]]
    scores = [float(score) for _, score, _ in rows]
    assert scores == sorted(scores, reverse=True)
    assert sorted(member for member, _, _ in rows) == ["member-00", "member-01", "member-02"]
    drawn = [float(re.search(r"gamma ([\d.]+)", values)[1]) for *_, values in rows]
    assert len(set(drawn)) == 3
    assert all(1 <= gamma <= 16 for gamma in drawn)

"""unbraid report as a user meets it."""

import json
from pathlib import Path

import numpy as np
import pytest

from unbraid.cli.app import main


def unbraid(*words: object) -> int:
    return main([str(word) for word in words])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("report") / "first"
    words = "train vae --data mini-sprites --net mlp:width=16 --latents 3 --steps 20 --log-every 10 --seed 0"
    assert unbraid(*words.split(), "--progress", "none", "--out", out) == 0
    return out


def test_the_page_is_written_into_the_run_and_its_place_is_told(run, capsys):
    assert unbraid("report", run, "--metrics", "mig,mcc") == 0
    told = capsys.readouterr()
    assert f"wrote {run / 'report.html'}" in told.out
    assert "computing mig, mcc" in told.err
    assert "VAE on mini-sprites" in (run / "report.html").read_text()


def test_json_tells_the_file_and_nothing_else(run, tmp_path, capsys):
    out = tmp_path / "page.html"
    assert unbraid("report", run, "--no-scores", "--out", out, "--json") == 0
    told = capsys.readouterr()
    assert json.loads(told.out) == {"report": str(out), "bytes": out.stat().st_size}
    assert told.err == ""


def test_a_comparison_goes_into_the_current_folder(run, tmp_path, monkeypatch):
    other = tmp_path / "second"
    words = "train vae --data mini-sprites --net mlp:width=16 --latents 2 --steps 10 --seed 1 --progress none"
    assert unbraid(*words.split(), "--out", other) == 0
    monkeypatch.chdir(tmp_path)
    assert unbraid("report", run, other, "--no-scores") == 0
    assert "2 runs compared" in Path("report.html").read_text()


def test_other_data_of_the_same_shape_can_be_looked_at(run, tmp_path):
    from unbraid.data import load

    np.savez(tmp_path / "other.npz", images=load("mini-sprites").images(np.arange(50)))
    assert unbraid("report", run, "--data", tmp_path / "other.npz", "--out", tmp_path / "a.html") == 0
    assert "Reconstructions" in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["report"], "give the folder of a run"),
        (["report", "nowhere"], "there is no folder nowhere"),
        (["report", "RUN", "--metrics", "mgi"], "did you mean 'mig'?"),
        (["report", "RUN", "--metrics", "mig", "--no-scores"], "give one of the two"),
        (["report", "RUN", "--metrics", ","], "--metrics is empty"),
        (["report", "RUN", "--out", "/proc/no/report.html"], "cannot write"),
    ],
)
def test_what_cannot_be_is_refused_in_words(run, words, message, capsys):
    assert unbraid(*[run if word == "RUN" else word for word in words]) == 2
    assert message in capsys.readouterr().err

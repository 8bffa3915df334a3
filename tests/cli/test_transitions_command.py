"""The sub-command `unbraid data transitions`."""

import json
from pathlib import Path

import numpy as np
import pytest

from unbraid.cli.app import main
from unbraid.cli.transitions import data_transitions
from unbraid.errors import UsageError


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "root"))
    monkeypatch.chdir(tmp_path)


def test_tracks_give_fits_dependence_and_pictures(capsys):
    words = ["data", "transitions", "natural-sprites:channels=1", "--gaps", "1,10", "--pairs", "20000"]
    assert main([*words, "--out", "moves", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [(fit["factor"], fit["max_gap"]) for fit in result["fits"]] == [
        (name, gap) for gap in (1, 10) for name in ("x", "y", "area")
    ]
    assert all(0.35 < fit["alpha"] < 1 for fit in result["fits"])
    natural, control = (np.array(result[key]["size_correlation"])[0, 2] for key in ("dependence", "permuted"))
    assert natural > 0.2 > 0.02 > abs(control)
    assert "YouTube-VOS" in result["stands_in_for"]
    names = [Path(file).name for file in result["files"]]
    assert names == ["steps.png", "gaps.png", "dependence.png", "pairs.png", "film.gif"]
    assert Path("moves/film.gif").read_bytes()[:4] == b"GIF8"
    assert all(Path(file).stat().st_size > 5000 for file in result["files"])


def test_tables_are_printed_for_people(capsys):
    data_transitions("natural-sprites", gaps="1", pairs=5000)
    shown = capsys.readouterr().out
    assert "gen. Laplace" in shown
    assert "x, area" in shown


def test_a_grid_shows_how_often_its_factors_change(capsys):
    data_transitions("mini-sprites", protocol="uni", pairs=20_000, out=Path("grid"), json=True)
    result = json.loads(capsys.readouterr().out)
    # Four factors, k uniform on 1..3: two change in the mean.
    assert result["mean_changes"]["exact"] == pytest.approx(2)
    assert result["mean_changes"]["measured"] == pytest.approx(2, abs=0.03)
    assert Path("grid/pairs.png").exists()
    data_transitions("mini-sprites", pairs=5000)
    assert "factors changed" in capsys.readouterr().out


def test_a_table_of_measurements_is_enough(tmp_path, capsys):
    rng = np.random.default_rng(0)
    steps = rng.laplace(size=(60, 100, 3)).cumsum(axis=1) + 500
    rows = [f"{t},{f},{','.join(map(str, steps[t, f]))}" for t in range(60) for f in range(100)]
    (tmp_path / "mine.csv").write_text("\n".join(["track,frame,x,y,area", *rows]))
    data_transitions("mine.csv", gaps="1", json=True)
    result = json.loads(capsys.readouterr().out)
    assert [fit["alpha"] for fit in result["fits"]] == pytest.approx([1, 1, 1], abs=0.1)


def test_few_frames_get_few_pictures_and_a_warning(tmp_path, capsys):
    rows = [f"0,{frame},{10 + frame % 3},{20 + frame**3},{5 + frame * frame}" for frame in range(5)]
    (tmp_path / "tiny.csv").write_text("\n".join(["track,frame,x,y,area", *rows]))
    data_transitions("tiny.csv", gaps="1", out=tmp_path / "drawn")
    assert [file.name for file in (tmp_path / "drawn").iterdir()] == ["steps.png"]
    assert "A fit to 4 pairs says little" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "digits8"}, "neither tracks nor a factor grid"),
        ({"name": "natural-sprites", "gaps": "a"}, "gaps must be whole numbers"),
        ({"name": "natural-sprites", "gaps": "0"}, "at least 1 frame"),
        ({"name": "natural-sprites", "pairs": 10}, "at least 5000"),
        ({"name": "none.csv"}, "no file"),
    ],
)
def test_wrong_use_is_named(arguments, words):
    with pytest.raises(UsageError, match=words):
        data_transitions(**arguments)

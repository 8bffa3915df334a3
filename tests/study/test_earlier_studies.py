"""A study carried out by version 0.1.0, before measures came (its checkpoints left out: only scores are looked at)."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from unbraid.cli.app import main
from unbraid.study import answers_of, coverage, make_table, open_study, own_scores, read_study

STUDY = Path(__file__).parent / "study-0.1"


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(STUDY, tmp_path / "study")
    return tmp_path / "study"


def test_its_table_is_what_it_was(folder):
    opened = open_study(folder)
    assert set(coverage(opened).states.values()) == {"evaluated"}
    then, now = pl.read_parquet(folder / "table.parquet"), make_table(opened)
    assert set(now.columns) == set(then.columns)
    # Not to the bit: UDR is computed from the stored codes.
    assert_frame_equal(now, then, check_column_order=False, check_row_order=False)


def test_its_file_means_the_same_study_and_nothing_is_done_again(folder, capsys):
    assert read_study(folder / "earlier.toml").to_json() == open_study(folder).study.to_json()
    before = {path: path.read_bytes() for path in folder.glob("runs/*/*")}
    assert main(["study", "run", str(folder / "earlier.toml"), "--out", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["states"] == {"evaluated": 4}
    assert {path: path.read_bytes() for path in folder.glob("runs/*/*")} == before
    assert json.loads((folder / "study.json").read_text())["format"] == 2
    assert set(coverage(open_study(folder)).states.values()) == {"evaluated"}


def test_its_runs_show_their_scores(folder):
    source, representation, scores = own_scores(folder / "runs" / "00001")
    stored = json.loads(source.read_text())["scores"]
    assert (source.name, representation) == ("scores-mean.json", "mean")
    assert {name: score.value for name, score in scores.items()} == {n: s["value"] for n, s in stored.items()}
    names = [answer.evaluation.measure.name for answer in answers_of(folder / "runs" / "00001")]
    assert names == ["disentanglement", "losses", "udr"]

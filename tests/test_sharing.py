"""What is written for others has no absolute path, and what users name is neither markup nor a formula in it."""

import csv
import re

import numpy as np
import polars as pl
import pytest

from unbraid.errors import UsageError
from unbraid.report.evolution_study import _found
from unbraid.report.explorer.packing import data_script
from unbraid.report.page.markup import command, tag, words
from unbraid.report.theory import factor_table, trial_table
from unbraid.sharing import code_span, markdown, sharable, spreadsheet
from unbraid.training.history import Table

EVIL = "a|b `c` <script>alert(1)</script> [x](javascript:1)"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("unbraid report /home/jane/work/runs/a", "unbraid report a"),
        ("--data '/home/jane doe/my pictures' --seed 0", "--data 'my pictures' --seed 0"),
        ("perturbed:source=/home/jane/runs/moved,control=x", "perturbed:source=moved,control=x"),
        ("(/home/jane/runs/a/history.csv)", "(history.csv)"),
        ("see https://example.org/a/b, and/or runs/a/b", "see https://example.org/a/b, and/or runs/a/b"),
        ("1 / 2 and 3/4", "1 / 2 and 3/4"),
    ],
)
def test_absolute_paths_are_cut_to_their_last_name_and_the_rest_stays(text, shown):
    assert sharable(text) == shown


def test_what_lies_in_the_current_folder_is_shown_from_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert sharable(f"unbraid report {tmp_path}/runs/first") == "unbraid report runs/first"
    monkeypatch.setenv("HOME", "/home/jane doe")
    assert "jane" not in sharable("no file /home/jane doe/x/y.npz here")


def test_pages_and_explorers_hide_paths_and_escape_names():
    page = tag("p", f"/home/jane/{EVIL}") + command("unbraid report /home/jane/runs/a") + words("/home/jane/runs/a")
    assert "jane" not in page
    assert "<script>" not in page
    script = data_script("run", {"problems": [{"detail": "no /home/jane/runs/a"}], "n": [1, 2.5]}).decode()
    assert "jane" not in script
    assert "[1, 2.5]" in script


def test_names_are_no_markup_in_markdown():
    assert markdown(EVIL) == r"a\|b \`c\` &lt;script&gt;alert(1)&lt;/script&gt; \[x\](javascript:1)"
    assert code_span(EVIL).startswith("<code>a&#124;b &#96;c&#96; &lt;script&gt;")


def test_cells_are_no_formulas_in_spreadsheets(tmp_path):
    texts = ["=1+1", "+1", "-x", "@sum", "plain", None]
    table = pl.DataFrame({"name": texts, "value": [-1.0, 2.0, 3.0, 4.0, 5.0, 6.0]})
    spreadsheet(table).write_csv(tmp_path / "table.csv")
    rows = list(csv.reader((tmp_path / "table.csv").read_text(encoding="utf-8").splitlines()))[1:]
    assert [row[0] for row in rows] == ["'=1+1", "'+1", "'-x", "'@sum", "plain", ""]
    assert rows[0][1] == "-1.0"
    assert spreadsheet(pl.DataFrame({"=1+1": [1.0], "x": [2.0]})).columns == ["'=1+1", "x"]


def test_a_term_or_a_measured_number_is_not_named_as_a_formula(tmp_path):
    table = Table(tmp_path / "history.csv")
    with pytest.raises(UsageError, match=r"history.csv: a spreadsheet takes '=1\+1' for a formula"):
        table.append({"step": 1, "=1+1": 2.0})
    with pytest.raises(UsageError, match="begin it with a letter"):
        table.append({"step": 1, "name": "@sum", "value": -1.0})
    table.append({"step": 1, "name": "loss", "value": -1.0})
    table.close()
    assert (tmp_path / "history.csv").read_text() == "step,name,value\n1,loss,-1.0\n"


def test_tables_of_experiments_hold_names_that_are_no_markup():
    row = {"data": EVIL, "model": EVIL, "variant": "original", "mig": 0.5, f"mig_{EVIL}": 0.5}
    for text in (trial_table("manipulation", pl.DataFrame([row])), factor_table(pl.DataFrame([row]))):
        head, _, line = text.splitlines()[:3]
        assert "<script>" not in text
        assert len(re.findall(r"(?<!\\)\|", line)) == head.count("|")


def test_a_comparison_of_populations_holds_factors_that_are_no_markup():
    rows = {"seed": [0], "leaf_run": [0], "depth": [0], "factor": [EVIL], "share": [1.0], "kl": [1.0]}
    (line,) = _found(pl.DataFrame({**rows, "images": [9], "udr": [0.5]}))
    assert "<script>" not in line
    assert len(re.findall(r"(?<!\\)\|", line)) == 6


def test_a_run_with_absolute_paths_everywhere_has_a_page_and_an_explorer_without_them(tmp_path):
    from unbraid.cli import main

    home = tmp_path / "jane"
    home.mkdir()
    np.savez(home / "mine.npz", images=np.random.default_rng(0).integers(0, 255, (64, 8, 8), np.uint8))
    run = str(home / "run")
    words = f"train vae --data {home / 'mine.npz'} --net mlp:width=8 --latents 2 --steps 2 --out {run} --progress none"
    assert main(words.split()) == 0
    assert main(["report", run]) == 0
    assert main(["explore", run, "--out", str(home / "explored"), "--sample", "64"]) == 0
    for name in ("run/report.html", "explored/run.js", "explored/index.html"):
        text = (home / name).read_text(encoding="utf-8")
        assert "jane" not in text, text[max(0, text.index("jane") - 200) : text.index("jane") + 50]
    page = (home / "run" / "report.html").read_text(encoding="utf-8")
    assert "unbraid evaluate run" in page
    assert "--data mine.npz" in page

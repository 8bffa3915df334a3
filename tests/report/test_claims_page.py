"""The page of claims: failed ones first, published beside measured, nothing from elsewhere."""

import re

import pytest

from unbraid.claims import claims, groups, judge_claims, read_records, run_claims
from unbraid.cli.app import main
from unbraid.engines import InlineEngine
from unbraid.report.claims import badge, write_report
from unbraid.report.claims.intervals import interval_bar, measured_words


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    place = tmp_path_factory.mktemp("claims")
    chosen = [claims()[name] for name in ("pca/theorems", "invariance/theorem-8")]
    run_claims(chosen, "smoke", place, engine=InlineEngine, progress="none")
    judge_claims([claims()["noise/gnt-helps"]], "small", place)
    return place


def test_failed_claims_come_first_with_their_numbers(out):
    page = write_report(out, read_records(out)).read_text(encoding="utf-8")
    assert page.index("Not reproduced") < page.index("pca/theorems")
    assert "invariance/theorem-8" in page
    assert "0.3681" in page
    assert "not reproduced (smoke)" in page
    assert "Not testable here" in page
    assert not re.search(r'(src|href)="https?:', page)
    text = (out / "claims.md").read_text(encoding="utf-8")
    assert text.index("**not reproduced (smoke)**") < text.index("pca/theorems")
    assert "| Jacobsen et al. 2019 |" in text


def test_every_claim_stands_on_the_page_with_its_command(out):
    page = write_report(out, read_records(out)).read_text(encoding="utf-8")
    for name in claims():
        assert f"unbraid claims run {name} --scale" in page


def test_the_line_for_a_readme_counts_by_scale(out):
    # One of two exact claims; noise/gnt-helps has no runs, like the other 74.
    assert badge(read_records(out)) == "77 published claims: 1 of 2 exact ones; 75 not run"


def test_an_interval_shows_what_is_asked_and_what_was_published():
    found = {"name": "gap", "rule": "P", "constants": {"delta": 0.1}, "mean": 0.25, "low": 0.2, "high": 0.3}
    drawn = str(interval_bar(found, 0.4))
    assert "0.1 is asked; published 0.4" in drawn
    assert drawn.count("ring") == 1
    assert measured_words(found) == "0.25 [0.2 to 0.3]"
    assert interval_bar(found | {"low": "-inf"}, None) is None


def test_the_command_lists_shows_judges_and_reports(out, capsys):
    assert main(["claims", "list", "invariance", "--out", str(out), "--scale", "smoke"]) == 0
    assert "7 claims" in capsys.readouterr().out
    assert main(["claims", "show", "slow/lap-beats-uni", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "dSprites LAP: 69.8 MCC" in told
    assert "P(3)" in told
    assert "seeds 100 to 104" in told
    assert main(["claims", "judge", "invariance/theorem-8", "--scale", "smoke", "--out", str(out)]) == 0
    assert "invariance/theorem-8: not reproduced" in capsys.readouterr().out
    assert main(["claims", "report", "--readme", "--out", str(out)]) == 0
    assert capsys.readouterr().out.startswith("77 published claims")


def test_what_takes_days_is_planned_instead_of_run(tmp_path, capsys):
    assert main(["claims", "run", "study/scores-agree", "--scale", "paper", "--out", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "12,600 runs x 300,000 steps" in told
    assert "GPU-hours" in told
    assert "--group study-grid" in told
    assert not (tmp_path / "groups").exists()
    assert groups()["study-grid"].recipes["paper"].unit == "GPU"


def test_wrong_names_and_empty_folders_say_what_to_do(tmp_path, capsys):
    assert main(["claims", "run", "slow/nothing", "--out", str(tmp_path)]) == 2
    assert "unbraid claims list" in capsys.readouterr().err
    assert main(["claims", "run", "--out", str(tmp_path)]) == 2
    assert "which claims?" in capsys.readouterr().err
    assert main(["claims", "report", "--out", str(tmp_path)]) == 2
    assert "unbraid claims run all" in capsys.readouterr().err
    assert main(["claims", "run", "all", "--group", "nothing", "--out", str(tmp_path)]) == 2
    assert "run group" in capsys.readouterr().err

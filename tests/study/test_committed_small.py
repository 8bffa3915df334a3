"""The committed small study: its page is what its table and its settings give."""

import importlib.util
import json
from pathlib import Path

import polars as pl
import pytest

from unbraid.study import Study, read_study
from unbraid.study.analysis import judge_findings
from unbraid.study.folder import StudyFolder
from unbraid.study.markdown import _findings, _what

DOCS = Path(__file__).parents[2] / "docs" / "studies"
HERE = DOCS / "small"


@pytest.fixture(scope="module")
def table():
    return pl.read_parquet(HERE / "table.parquet")


@pytest.fixture(scope="module")
def study():
    return Study.from_json(json.loads((HERE / "study.json").read_text(encoding="utf-8")), "committed")


@pytest.fixture(scope="module")
def page():
    return (HERE / "report.md").read_text(encoding="utf-8")


def test_what_was_run_and_every_verdict_follow_from_table_and_settings(table, study, page):
    assert table["index"].n_unique() == len(study)
    lines = page.splitlines()
    for line in [*_what(study, table), *_findings(judge_findings(table))]:
        assert line in lines


def script():
    specification = importlib.util.spec_from_file_location("make_small", DOCS / "make_small.py")
    made = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(made)
    return made


def test_the_page_says_that_its_runs_are_those_of_an_earlier_preset(study, page):
    heading, note, rest = page.split("\n\n", 2)
    assert note.startswith("These are runs of an earlier preset of that name; today's is another study")
    with_note = script().with_note
    bare = f"{heading}\n\n{rest}"
    assert with_note(bare, study) == page
    assert with_note(bare, read_study("small")) == bare


@pytest.mark.slow
def test_the_whole_page_is_made_anew_from_its_table(table, study, page, tmp_path):
    made = script()
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "study.json").write_bytes((HERE / "study.json").read_bytes())
    made.write_page(StudyFolder(folder, study), table, tmp_path / "page")
    again = (tmp_path / "page" / "report.md").read_text(encoding="utf-8")
    assert page.startswith(again)  # pictures of the runs, which are not at hand, come last
    rest = page[len(again) :]
    assert not rest or rest.startswith("\n## What the models with the highest MIG learned")

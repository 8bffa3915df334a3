"""The Markdown page of a study says what the table says."""

import re
from pathlib import Path

import polars as pl
import pytest
from study_toys import full_table

from unbraid.study import Setting, Study, answer_all, write_markdown
from unbraid.study.analysis import ANALYSES, Answer, findings

STUDY = Study(
    "toy",
    ("sprites32", "rooms3d-32"),
    (
        Setting("beta-vae", {"beta": 1, "learning_rate": 5e-4}, "beta", 1.0),
        Setting("beta-vae", {"beta": 4, "learning_rate": 5e-4}, "beta", 4.0),
        Setting("vae", {"learning_rate": 5e-4}),
        Setting("annealed-vae", {"c_max": 5, "learning_rate": 5e-4, "anneal_steps": 1300}, "c_max", 5.0),
    ),
    seeds=(0, 1),
    steps=(1000,),
)


def write(folder: Path, table: pl.DataFrame, answers: list[Answer]) -> str:
    write_markdown(folder / "report.md", STUDY, table.with_columns(seconds=pl.lit(3600.0)), answers)
    return (folder / "report.md").read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A report with its pictures; drawing them takes seconds."""
    folder = tmp_path_factory.mktemp("report")
    write(folder, full_table(), answer_all(full_table(), folder, plots=(".png",)))
    return folder


def test_the_page_names_axes_coverage_verdicts_and_pictures_that_exist(folder):
    page = (folder / "report.md").read_text()
    assert "beta-vae (beta 1, 4); vae; annealed-vae (c_max 5)" in page
    # The toy table has one index per row: 2 data sets x 36 settings x 5 seeds x 2 representations, an hour each.
    assert "720 of 16 runs measured" in page
    assert "720.0 hours of one core" in page
    # What every setting was trained with, defaults included: rates, widths, schedules.
    assert re.search(r"- Training: batches of 64 images; latents 10, .*learning_rate 0.0005", page)
    assert re.search(r"- annealed-vae: .*gamma 1000, .*anneal_steps 1300", page)
    assert "learning_rate" not in next(line for line in page.splitlines() if line.startswith("- annealed-vae"))
    yes, no = (int(findings(full_table())["holds"].eq(value).sum()) for value in (True, False))
    assert (page.count("| holds |"), page.count("| **does not hold** |")) == (yes, no)
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page)
    assert len(pictures) > 10
    assert all((folder / picture).exists() for picture in pictures)


def test_published_numbers_stand_beside_those_of_the_data_sets_that_imitate(folder):
    page = (folder / "report.md").read_text()
    assert "`sprites32` stands beside the published `dsprites`" in page
    # Table of the study: dSprites, BetaVAE score, objective only: 29 %.
    row = next(line for line in page.splitlines() if line.startswith("| sprites32 | beta_vae | objective |"))
    assert row.split("|")[5].strip() == "29.00"


def test_an_answer_that_is_missing_says_why(tmp_path):
    answer = Answer("correlation_trend", ANALYSES["correlation_trend"], None, missing="no column 'x': run --reevaluate")
    page = write(tmp_path, full_table(), [answer])
    assert "### Trend of correlation with strength\n\nNot answered: no column 'x': run --reevaluate" in page


def test_unanswered_questions_do_not_repeat_the_columns_of_the_table(tmp_path):
    table = full_table().select(
        "index", "data", "objective", "strength_name", "strength", "seed", "representation", "mig"
    )
    answers = answer_all(table.with_columns(steps=1, net=pl.lit("mlp")))
    assert len([answer for answer in answers if "no column" in answer.missing]) > 3
    page = write(tmp_path, table, answers)
    assert "strength_name" not in page


def test_one_data_set_gives_no_table_between_data_sets():
    table = full_table(seeds=2).filter(pl.col("data") == "sprites32")
    answers = {answer.name: answer for answer in answer_all(table)}
    for name in ("transfer_between_data", "transfer_of_settings"):
        assert answers[name].table is None
        assert "one data set (sprites32)" in answers[name].missing


def test_a_data_set_and_its_permuted_twin_are_reported_as_the_control(tmp_path):
    table = full_table()
    renamed = pl.col("data").replace({"rooms3d-32": "sprites32:permuted=1"})
    page = write(tmp_path, table.with_columns(renamed), [])
    assert "## Control: factors that move independently" in page
    assert re.search(r"- `sprites32`, beta-vae beta 1: \S+", page)
    assert "| sprites32 | beta-vae beta 1 | mig |" in page
    assert "## Control" not in write(tmp_path, table, [])

"""The committed experiments of the theory: tables and verdicts of the page follow from the trials beside it."""

import importlib.util
from pathlib import Path

import polars as pl
import pytest

from unbraid.report.theory import trial_table, verdict_table

HERE = Path(__file__).parents[2] / "docs" / "studies" / "vae_pca"
TRIALS = sorted(path.stem for path in HERE.glob("*.csv") if path.stem != "manipulation_gaps")


def collect():
    specification = importlib.util.spec_from_file_location("collect", HERE / "collect.py")
    made = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(made)
    return made


def between(mark: str) -> str:
    return (HERE / "report.md").read_text(encoding="utf-8").split(f"<!-- {mark} -->")[1].strip()


@pytest.mark.parametrize("study", TRIALS)
def test_a_table_of_the_page_is_that_of_its_trials(study):
    rows = pl.read_csv(HERE / f"{study}.csv")
    assert between(study) == trial_table(study, rows).strip()
    if study == "manipulation":
        gaps = pl.read_csv(HERE / "manipulation_gaps.csv")
        assert between("verdicts") == verdict_table(collect().with_gaps(rows, gaps)).strip()


def test_nothing_is_said_of_a_fall_where_the_gap_was_never_positive():
    gaps = pl.read_csv(HERE / "manipulation_gaps.csv")
    falls = [line.split(" | ") for line in between("verdicts").splitlines() if "MIG falls" in line]
    for name, positive in (("sprites32", False), ("rooms3d-32", True)):
        assert (gaps.filter(pl.col("data").str.starts_with(f"{name}-"))["gap"].max() > 0) == positive
        said = {cells[3].strip("* ") for cells in falls if cells[0].startswith(f"| {name}:")}
        assert ("cannot say" in said) == (not positive)
        assert len(said) == 1


def test_trials_that_tell_their_gap_keep_it():
    rows = pl.DataFrame({"data": ["a:x=1", "a:x=1", "b"], "gap": [3.0, None, None]})
    gaps = pl.DataFrame({"data": ["a-x-1", "a-x-1"], "gap": [-2.0, -1.0]})
    assert collect().with_gaps(rows, gaps)["gap"].to_list() == [3.0, -1.0, None]
    assert collect().with_gaps(rows.drop("gap"), gaps)["gap"].to_list() == [-1.0, -1.0, None]

"""The committed experiments of the theory: tables and verdicts of the page follow from the trials beside it."""

from pathlib import Path

import polars as pl
import pytest

from unbraid.report.theory import trial_table, verdict_table

HERE = Path(__file__).parents[2] / "docs" / "studies" / "vae_pca"
TRIALS = sorted(path.stem for path in HERE.glob("*.csv") if path.stem != "manipulation_gaps")


def between(mark: str) -> str:
    return (HERE / "report.md").read_text(encoding="utf-8").split(f"<!-- {mark} -->")[1].strip()


@pytest.mark.parametrize("study", TRIALS)
def test_a_table_of_the_page_is_that_of_its_trials(study):
    rows = pl.read_csv(HERE / f"{study}.csv")
    assert between(study) == trial_table(study, rows).strip()
    if study == "manipulation":
        assert between("verdicts") == verdict_table(rows).strip()
